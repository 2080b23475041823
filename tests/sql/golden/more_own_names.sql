-- the base histogram
CREATE TEMPORARY TABLE base_histogram AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."base_histogram" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."value" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."code" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "base_histogram" AS "base";

-- classes at (1, 0)
CREATE TEMPORARY TABLE levels_base_0_0 AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 4 + CAST("r"."c1" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_base" AS "r" JOIN "levels_base_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- released rows at (1, 0), suppressed ones kept blank
CREATE TEMPORARY TABLE unranked_rows AS SELECT "d0"."l1" AS "value", "source"."code" AS "code", "source"."c0" AS "c0", FALSE AS "r?" FROM "memory"."main"."base_histogram" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."value" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."code" = "d1"."value" ANTI JOIN "suppressed_classes" ON "suppressed_classes"."w0" = CAST(0 AS BIGINT) + CAST(COALESCE("d0"."g1", 2) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 WHERE NOT "source"."code" IS NULL UNION ALL SELECT CAST(NULL AS TEXT) AS "value", CAST(NULL AS TEXT) AS "code", CAST(NULL AS TEXT) AS "c0", TRUE AS "r?" FROM RANGE(4);
SELECT "value", COUNT(*) FROM "unranked_rows" WHERE NOT "r?" GROUP BY "value";
SELECT "code", COUNT(*) FROM "unranked_rows" WHERE NOT "r?" GROUP BY "code";
CREATE TEMPORARY TABLE released_labels_0 AS SELECT * FROM "staged";
CREATE TEMPORARY TABLE released_labels_1 AS SELECT * FROM "staged";
CREATE TABLE "main"."r" AS SELECT * FROM (SELECT * FROM (SELECT "r"."value", "l0"."place" AS "value_rank", "r"."code", "l1"."place" AS "code_rank", "r"."c0", "r"."r?" FROM "unranked_rows" AS "r" LEFT JOIN "released_labels_0" AS "l0" ON "r"."value" = "l0"."label" LEFT JOIN "released_labels_1" AS "l1" ON "r"."code" = "l1"."label") AS released ORDER BY "r?", "value_rank", "code_rank", "c0") AS ordered_rows;
DROP TABLE "unranked_rows";

-- released classes
SELECT COUNT(DISTINCT NFC_NORMALIZE(LOWER(UPPER(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}]', '', 'g'))))) < COUNT("value") FROM (SELECT DISTINCT "c0" AS "value" FROM "main"."r") AS different;
CREATE TABLE "main"."r_c" AS SELECT "l0"."label" AS "value", "l1"."label" AS "code", "counted"."n" AS "class_size", CAST(1 AS DOUBLE) / "counted"."n" AS "risk", "counted"."different" AS "distinct_l_c0", COALESCE("counted"."achieved", 0) AS "entropy_l_c0", ROW_NUMBER() OVER (ORDER BY "l0"."label", "l1"."label") AS "class_id" FROM (SELECT "v0", "v1", CAST(SUM("n") AS BIGINT) AS "n", COUNT("value") AS "different", ROUND(EXP(LN(SUM("n") FILTER(WHERE NOT "value" IS NULL)) - SUM("n" * LN("n")) FILTER(WHERE NOT "value" IS NULL) / SUM("n") FILTER(WHERE NOT "value" IS NULL)), 9) AS "achieved" FROM (SELECT "r"."value_rank" AS "v0", "r"."code_rank" AS "v1", "r"."c0" AS "value", COUNT(*) AS "n" FROM "main"."r" AS r WHERE NOT "r"."r?" GROUP BY "r"."value_rank", "r"."code_rank", "r"."c0") AS spread0 GROUP BY "v0", "v1") AS counted LEFT JOIN "released_labels_0" AS "l0" ON "counted"."v0" = "l0"."place" LEFT JOIN "released_labels_1" AS "l1" ON "counted"."v1" = "l1"."place" ORDER BY "l0"."label", "l1"."label";

-- a view of the released rows
CREATE VIEW "main"."r_v" AS SELECT "value", "value_rank", "code", "code_rank", "c0", "r?" FROM "main"."r";

