-- the base histogram
CREATE TEMPORARY TABLE "base_histogram" AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."suppressed_classes" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."class_size" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."risk" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COUNT(*), COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "base_histogram" AS "base";

-- classes at (1, 0)
CREATE TEMPORARY TABLE "levels_base_0_0" AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 4 + CAST("r"."c1" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_base" AS "r" JOIN "levels_base_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- released rows at (1, 0), suppressed ones kept blank
CREATE TABLE "main"."released_classes" AS SELECT * FROM (SELECT "d0"."l1" AS "class_size", "source"."risk" AS "risk", "source"."recounted" AS "recounted", FALSE AS "released_classes?" FROM "memory"."main"."suppressed_classes" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."class_size" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."risk" = "d1"."value" ANTI JOIN "suppressed_classes" ON "suppressed_classes"."w0" = CAST(0 AS BIGINT) + CAST(COALESCE("d0"."g1", 2) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 WHERE NOT "source"."risk" IS NULL UNION ALL BY NAME SELECT TRUE AS "released_classes?" FROM RANGE(4)) AS released ORDER BY "released_classes?", "class_size", "risk", "recounted";

-- released classes
CREATE TABLE "main"."released_classes_c" AS SELECT "class_size", "risk", "class_size_", CAST(1 AS DOUBLE) / "class_size_" AS "risk_", "distinct_l_recounted", CASE WHEN "distinct_l_recounted" = 0 THEN CAST(0 AS DOUBLE) ELSE ROUND(POWER(2, "entropy_l_recounted"), 9) END AS "entropy_l_recounted" FROM (SELECT "class_size", "risk", COUNT(*) AS "class_size_", COUNT(DISTINCT "recounted") AS "distinct_l_recounted", ENTROPY("recounted") AS "entropy_l_recounted" FROM "main"."released_classes" WHERE NOT "released_classes?" GROUP BY "class_size", "risk") AS counted ORDER BY "class_size", "risk";

-- a view of the released rows
CREATE VIEW "main"."released_classes_v" AS SELECT "class_size", "risk", "recounted", "released_classes?" FROM "main"."released_classes";

