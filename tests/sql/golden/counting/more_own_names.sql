-- a dictionary of sensitive values
CREATE TEMPORARY TABLE sensitive_values_0 AS SELECT "found"."value", "found"."text", "found"."n", "found"."value" AS "place" FROM (SELECT "value", CAST("value" AS TEXT) AS "text", "n" FROM (SELECT "c0" AS "value", COUNT(*) AS "n" FROM "memory"."main"."base_histogram" GROUP BY 1) AS distinct_values) AS found;
CREATE TEMPORARY TABLE sensitive_0 AS SELECT "value", CAST(ROW_NUMBER() OVER (ORDER BY "place") - 1 AS INT) AS "code", "n" FROM "sensitive_values_0";
DROP TABLE "sensitive_values_0";
SELECT n, "value" IS NULL AS "is_null" FROM "sensitive_0" ORDER BY code NULLS FIRST;
SELECT COUNT(DISTINCT NFC_NORMALIZE(LOWER(UPPER(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]', '', 'g'))))), COUNT("value"), COALESCE(BOOL_OR(CAST(REGEXP_MATCHES(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]', '', 'g'), '[ßİŉǰΐΰևẖẗẘẙẚẞὐὒὔὖᾀᾁᾂᾃᾄᾅᾆᾇᾈᾉᾊᾋᾌᾍᾎᾏᾐᾑᾒᾓᾔᾕᾖᾗᾘᾙᾚᾛᾜᾝᾞᾟᾠᾡᾢᾣᾤᾥᾦᾧᾨᾩᾪᾫᾬᾭᾮᾯᾲᾳᾴᾶᾷᾼῂῃῄῆῇῌῒΐῖῗῢΰῤῦῧῲῳῴῶῷῼﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗ]') AS BOOLEAN)), FALSE) FROM (SELECT value FROM (SELECT DISTINCT value FROM "sensitive_0") AS each) AS spelled;

-- the base histogram, by values, and of the population
CREATE TEMPORARY TABLE base_histogram AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."base_histogram" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."value" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."code" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "base_histogram" AS "base";
CREATE TEMPORARY TABLE values_0_histogram AS SELECT CAST(("w0" // 12) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 3) % 4 AS UTINYINT) AS "c1", CAST(("w0" // 1) % 3 AS UTINYINT) AS "c2", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 12 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 3 + CAST("v"."code" AS BIGINT) * 1 AS "w0" FROM "memory"."main"."base_histogram" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."value" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."code" = "d1"."value" LEFT JOIN "sensitive_0" AS "v" ON "source"."c0" = "v"."value") AS packed GROUP BY "w0") AS counted;
CREATE TEMPORARY TABLE population_histogram AS SELECT CAST(("w0" // 4) % 4 AS UTINYINT) AS "c0", CAST(("w0" // 1) % 4 AS UTINYINT) AS "c1", "n" FROM (SELECT "w0", COUNT(*) AS "n" FROM (SELECT CAST(COALESCE("d0"."code", 3) AS BIGINT) * 4 + CAST(COALESCE("d1"."code", 3) AS BIGINT) * 1 AS "w0" FROM "memory"."main"."base_histogram'""s" AS "source" LEFT JOIN "dictionary_0" AS "d0" ON "source"."value" = "d0"."value" LEFT JOIN "dictionary_1" AS "d1" ON "source"."code" = "d1"."value") AS packed GROUP BY "w0") AS counted;
SELECT COALESCE(SUM("n"), 0), COALESCE(SUM("n") FILTER(WHERE "base"."c1" <> 3), 0) FROM "population_histogram" AS "base";

-- values in classes at (1, 0)
CREATE TEMPORARY VIEW "searchable_values_0" AS SELECT "c0", "c1", "c2", "n" FROM "values_0_histogram" AS "base" WHERE "base"."c1" <> 3;
CREATE TEMPORARY TABLE levels_values_0_0_0 AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 12 + CAST("r"."c1" AS BIGINT) * 3 + CAST("r"."c2" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_values_0" AS "r" JOIN "levels_values_0_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- the population in classes at (1, 0)
CREATE TEMPORARY VIEW "searchable_population" AS SELECT "c0", "c1", "n" FROM "population_histogram" AS "base" WHERE "base"."c1" <> 3;
CREATE TEMPORARY TABLE levels_population_0_0 AS SELECT * FROM "level_groups";
SELECT CAST(0 AS BIGINT) + CAST("m0"."g1" AS BIGINT) * 4 + CAST("r"."c1" AS BIGINT) * 1 AS "w0", CAST(SUM("r"."n") AS BIGINT) AS "n" FROM "searchable_population" AS "r" JOIN "levels_population_0_0" AS "m0" ON "r"."c0" = "m0"."g0" GROUP BY 1 ORDER BY 1;

-- all of it for numpy
SELECT "c0", "c1", CAST(SUM("n") AS BIGINT) AS "n", CAST(SUM("population") AS BIGINT) AS "population" FROM (SELECT "c0", "c1", "n", 0 AS "population" FROM "base_histogram" AS "base" WHERE "base"."c1" <> 3 UNION ALL SELECT "c0", "c1", 0 AS "n", "n" FROM "population_histogram" AS "base" WHERE "base"."c1" <> 3) AS both_rows GROUP BY "c0", "c1" ORDER BY "c0", "c1";
SELECT "c0", "c1", "c2", "n" FROM "values_0_histogram" AS "base" WHERE "base"."c1" <> 3;

