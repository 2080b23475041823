-- the base histogram
CREATE TEMPORARY TABLE base_histogram AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."select" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."from" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."group" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "base_histogram" AS "base";

-- classes at (1, 0)
CREATE TEMPORARY TABLE levels_base_0_0 AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 4 + CAST("r"."c1" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_base" AS "r" JOIN "levels_base_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- released rows at (1, 0), suppressed ones kept blank
CREATE TEMPORARY TABLE unranked_rows AS SELECT "d0"."l1" AS "from", "source"."group" AS "group", "source"."where" AS "where", FALSE AS "table?" FROM "memory"."main"."select" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."from" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."group" = "d1"."value" ANTI JOIN "suppressed_classes" ON "suppressed_classes"."w0" = CAST(0 AS BIGINT) + CAST(COALESCE("d0"."g1", 2) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 WHERE NOT "source"."group" IS NULL UNION ALL SELECT CAST(NULL AS TEXT) AS "from", CAST(NULL AS TEXT) AS "group", CAST(NULL AS TEXT) AS "where", TRUE AS "table?" FROM RANGE(4);
SELECT "from", COUNT(*) FROM "unranked_rows" WHERE NOT "table?" GROUP BY "from";
SELECT "group", COUNT(*) FROM "unranked_rows" WHERE NOT "table?" GROUP BY "group";
CREATE TEMPORARY TABLE released_labels_0 AS SELECT * FROM "staged";
CREATE TEMPORARY TABLE released_labels_1 AS SELECT * FROM "staged";
CREATE TABLE "main"."table" AS SELECT * FROM (SELECT * FROM (SELECT "r"."from", "l0"."place" AS "from_rank", "r"."group", "l1"."place" AS "group_rank", "r"."where", "r"."table?" FROM "unranked_rows" AS "r" LEFT JOIN "released_labels_0" AS "l0" ON "r"."from" = "l0"."label" LEFT JOIN "released_labels_1" AS "l1" ON "r"."group" = "l1"."label") AS released ORDER BY "table?", "from_rank", "group_rank", "where") AS ordered_rows;
DROP TABLE "unranked_rows";

-- released classes
SELECT COUNT(DISTINCT NFC_NORMALIZE(LOWER(UPPER(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}]', '', 'g'))))) < COUNT("value") FROM (SELECT DISTINCT "where" AS "value" FROM "main"."table") AS different;
CREATE TABLE "main"."table_c" AS SELECT "l0"."label" AS "from", "l1"."label" AS "group", "counted"."n" AS "class_size", CAST(1 AS DOUBLE) / "counted"."n" AS "risk", "counted"."different" AS "distinct_l_where", COALESCE("counted"."achieved", 0) AS "entropy_l_where", ROW_NUMBER() OVER (ORDER BY "l0"."label", "l1"."label") AS "class_id" FROM (SELECT "v0", "v1", CAST(SUM("n") AS BIGINT) AS "n", COUNT("value") AS "different", ROUND(EXP(LN(SUM("n") FILTER(WHERE NOT "value" IS NULL)) - SUM("n" * LN("n")) FILTER(WHERE NOT "value" IS NULL) / SUM("n") FILTER(WHERE NOT "value" IS NULL)), 9) AS "achieved" FROM (SELECT "r"."from_rank" AS "v0", "r"."group_rank" AS "v1", "r"."where" AS "value", COUNT(*) AS "n" FROM "main"."table" AS r WHERE NOT "r"."table?" GROUP BY "r"."from_rank", "r"."group_rank", "r"."where") AS spread0 GROUP BY "v0", "v1") AS counted LEFT JOIN "released_labels_0" AS "l0" ON "counted"."v0" = "l0"."place" LEFT JOIN "released_labels_1" AS "l1" ON "counted"."v1" = "l1"."place" ORDER BY "l0"."label", "l1"."label";

-- a view of the released rows
CREATE VIEW "main"."table_v" AS SELECT "from", "from_rank", "group", "group_rank", "where", "table?" FROM "main"."table";

