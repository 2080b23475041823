-- the base histogram
CREATE TEMPORARY TABLE "base_histogram" AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."  leading and trailing  " AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."a b" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."	" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COUNT(*), COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "base_histogram" AS "base";

-- classes at (1, 0)
CREATE TEMPORARY TABLE "levels_base_0_0" AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 4 + CAST("r"."c1" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_base" AS "r" JOIN "levels_base_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- released rows at (1, 0), suppressed ones kept blank
CREATE TABLE "main"." " AS SELECT * FROM (SELECT "d0"."l1" AS "a b", "source"."	" AS "	", "source"."
" AS "
", FALSE AS " ?" FROM "memory"."main"."  leading and trailing  " AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."a b" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."	" = "d1"."value" ANTI JOIN "suppressed_classes" ON "suppressed_classes"."w0" = CAST(0 AS BIGINT) + CAST(COALESCE("d0"."g1", 2) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 WHERE NOT "source"."	" IS NULL UNION ALL BY NAME SELECT TRUE AS " ?" FROM RANGE(4)) AS released ORDER BY " ?", "a b", "	", "
";

-- released classes
CREATE TABLE "main"." _c" AS SELECT "a b", "	", "class_size", CAST(1 AS DOUBLE) / "class_size" AS "risk", "distinct_l_
", CASE WHEN "distinct_l_
" = 0 THEN CAST(0 AS DOUBLE) ELSE ROUND(POWER(2, "entropy_l_
"), 9) END AS "entropy_l_
" FROM (SELECT "a b", "	", COUNT(*) AS "class_size", COUNT(DISTINCT "
") AS "distinct_l_
", ENTROPY("
") AS "entropy_l_
" FROM "main"." " WHERE NOT " ?" GROUP BY "a b", "	") AS counted ORDER BY "a b", "	";

-- a view of the released rows
CREATE VIEW "main"." _v" AS SELECT "a b", "	", "
", " ?" FROM "main"." ";

