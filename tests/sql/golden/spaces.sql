-- the base histogram
CREATE TEMPORARY TABLE base_histogram AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."  leading and trailing  " AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."a b" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."	" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "base_histogram" AS "base";

-- classes at (1, 0)
CREATE TEMPORARY TABLE levels_base_0_0 AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 4 + CAST("r"."c1" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_base" AS "r" JOIN "levels_base_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- released rows at (1, 0), suppressed ones kept blank
CREATE TEMPORARY TABLE unranked_rows AS SELECT "d0"."l1" AS "a b", "source"."	" AS "	", "source"."
" AS "
", FALSE AS " ?" FROM "memory"."main"."  leading and trailing  " AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."a b" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."	" = "d1"."value" ANTI JOIN "suppressed_classes" ON "suppressed_classes"."w0" = CAST(0 AS BIGINT) + CAST(COALESCE("d0"."g1", 2) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 WHERE NOT "source"."	" IS NULL UNION ALL SELECT CAST(NULL AS TEXT) AS "a b", CAST(NULL AS TEXT) AS "	", CAST(NULL AS TEXT) AS "
", TRUE AS " ?" FROM RANGE(4);
SELECT 0, "a b", COUNT(*) FROM "unranked_rows" WHERE NOT " ?" GROUP BY "a b" UNION ALL SELECT 1, "	", COUNT(*) FROM "unranked_rows" WHERE NOT " ?" GROUP BY "	";
CREATE TEMPORARY TABLE label_staging AS SELECT * FROM "staged";
CREATE TABLE "main"." " AS SELECT * FROM (SELECT * FROM (SELECT "r"."a b", "l0"."place" AS "a b_rank", "r"."	", "l1"."place" AS "	_rank", "r"."
", "r"." ?" FROM "unranked_rows" AS "r" LEFT JOIN (SELECT label, place FROM "label_staging" WHERE "at" = 0) AS l0 ON "r"."a b" = "l0"."label" LEFT JOIN (SELECT label, place FROM "label_staging" WHERE "at" = 1) AS l1 ON "r"."	" = "l1"."label") AS released ORDER BY " ?", "a b_rank", "	_rank", "
") AS ordered_rows;
DROP TABLE "unranked_rows";

-- released classes
SELECT COUNT(DISTINCT NFC_NORMALIZE(LOWER(UPPER(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]', '', 'g'))))), COUNT("value"), COALESCE(BOOL_OR(CAST(REGEXP_MATCHES(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]', '', 'g'), '[ßİŉǰΐΰևẖẗẘẙẚẞὐὒὔὖᾀᾁᾂᾃᾄᾅᾆᾇᾈᾉᾊᾋᾌᾍᾎᾏᾐᾑᾒᾓᾔᾕᾖᾗᾘᾙᾚᾛᾜᾝᾞᾟᾠᾡᾢᾣᾤᾥᾦᾧᾨᾩᾪᾫᾬᾭᾮᾯᾲᾳᾴᾶᾷᾼῂῃῄῆῇῌῒΐῖῗῢΰῤῦῧῲῳῴῶῷῼﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗ]') AS BOOLEAN)), FALSE) FROM (SELECT value FROM (SELECT DISTINCT "
" AS "value" FROM "main"." ") AS each) AS spelled;
CREATE TABLE "main"." _c" AS SELECT "l0"."label" AS "a b", "l1"."label" AS "	", "counted"."n" AS "class_size", CAST(1 AS DOUBLE) / "counted"."n" AS "risk", "counted"."different" AS "distinct_l_
", COALESCE("counted"."achieved", 0) AS "entropy_l_
", ROW_NUMBER() OVER (ORDER BY "l0"."label", "l1"."label") AS "class_id" FROM (SELECT "v0", "v1", CAST(SUM("n") AS BIGINT) AS "n", COUNT("value") AS "different", ROUND(EXP(LN(SUM("n") FILTER(WHERE NOT "value" IS NULL)) - SUM("n" * LN("n")) FILTER(WHERE NOT "value" IS NULL) / SUM("n") FILTER(WHERE NOT "value" IS NULL)), 9) AS "achieved" FROM (SELECT "r"."a b_rank" AS "v0", "r"."	_rank" AS "v1", "r"."
" AS "value", COUNT(*) AS "n" FROM "main"." " AS r WHERE NOT "r"." ?" GROUP BY "r"."a b_rank", "r"."	_rank", "r"."
") AS spread0 GROUP BY "v0", "v1") AS counted LEFT JOIN (SELECT label, place FROM "label_staging" WHERE "at" = 0) AS l0 ON "counted"."v0" = "l0"."place" LEFT JOIN (SELECT label, place FROM "label_staging" WHERE "at" = 1) AS l1 ON "counted"."v1" = "l1"."place" ORDER BY "l0"."label", "l1"."label";

-- a view of the released rows
CREATE VIEW "main"." _v" AS SELECT "a b", "a b_rank", "	", "	_rank", "
", " ?" FROM "main"." ";

