-- aggregates of classes, and who is in which
CREATE TEMPORARY TABLE class_members AS SELECT * FROM "staged";
CREATE TEMPORARY TABLE class_aggregates AS SELECT "staged"."class", CAST("d0"."value" AS INT) AS "a0" FROM "staged" JOIN "aggregated_0" AS "d0" ON "staged"."a0" = "d0"."code";

-- released rows
SELECT EXISTS(SELECT 1 FROM "class_members" WHERE "first" > 1);
CREATE TABLE "main"."again" AS SELECT * FROM (SELECT * FROM (SELECT "rows"."v0" AS "s", "rows"."v1" AS "i", "class_aggregates"."a0" AS "it's ""q""", FALSE AS "gone" FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "c0", "c1" ORDER BY "v0", "v1") AS "place" FROM (SELECT "d0"."code" AS "c0", COALESCE("d1"."code", 2) AS "c1", "source"."s" AS "v0", "source"."i" AS "v1" FROM (SELECT * FROM "test"."main"."people" WHERE NOT "it's ""q""" IS NULL) AS source LEFT JOIN "aggregated_0" AS "d0" ON "source"."it's ""q""" = "d0"."value" LEFT JOIN "sensitive_50" AS "d1" ON "source"."s" = "d1"."value") AS unnumbered) AS rows ASOF JOIN "class_members" ON "rows"."c0" = "class_members"."c0" AND "rows"."c1" = "class_members"."c1" AND "rows"."place" >= "class_members"."first" JOIN "class_aggregates" ON "class_members"."class" = "class_aggregates"."class" WHERE "rows"."place" <= "class_members"."last" UNION ALL SELECT CAST(NULL AS TEXT) AS "s", CAST(NULL AS INT) AS "i", CAST(NULL AS INT) AS "it's ""q""", TRUE AS "gone" FROM RANGE(2)) AS released ORDER BY "gone", "s", "i", "it's ""q""") AS ordered_rows;

-- released classes
SELECT COUNT(DISTINCT NFC_NORMALIZE(LOWER(UPPER(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]', '', 'g'))))), COUNT("value"), COALESCE(BOOL_OR(CAST(REGEXP_MATCHES(REGEXP_REPLACE(NFC_NORMALIZE(CAST("value" AS TEXT)), '[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]', '', 'g'), '[ßİŉǰΐΰևẖẗẘẙẚẞὐὒὔὖᾀᾁᾂᾃᾄᾅᾆᾇᾈᾉᾊᾋᾌᾍᾎᾏᾐᾑᾒᾓᾔᾕᾖᾗᾘᾙᾚᾛᾜᾝᾞᾟᾠᾡᾢᾣᾤᾥᾦᾧᾨᾩᾪᾫᾬᾭᾮᾯᾲᾳᾴᾶᾷᾼῂῃῄῆῇῌῒΐῖῗῢΰῤῦῧῲῳῴῶῷῼﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗ]') AS BOOLEAN)), FALSE) FROM (SELECT value FROM (SELECT DISTINCT "s" AS "value" FROM "main"."again") AS each) AS spelled;
CREATE TABLE "main"."again_classes" AS SELECT "counted"."v0" AS "it's ""q""", "counted"."n" AS "class_size", CAST(1 AS DOUBLE) / "counted"."n" AS "risk", "counted"."different" AS "distinct_l_s", COALESCE("counted"."achieved", 0) AS "entropy_l_s", ROW_NUMBER() OVER (ORDER BY "counted"."v0") AS "class_id" FROM (SELECT "v0", CAST(SUM("n") AS BIGINT) AS "n", COUNT("value") AS "different", ROUND(EXP(LN(SUM("n") FILTER(WHERE NOT "value" IS NULL)) - SUM("n" * LN("n")) FILTER(WHERE NOT "value" IS NULL) / SUM("n") FILTER(WHERE NOT "value" IS NULL)), 9) AS "achieved" FROM (SELECT "r"."it's ""q""" AS "v0", "r"."s" AS "value", COUNT(*) AS "n" FROM "main"."again" AS r WHERE NOT "r"."gone" GROUP BY "r"."it's ""q""", "r"."s") AS spread0 GROUP BY "v0") AS counted ORDER BY "counted"."v0";

-- verification of the aggregates
CREATE TEMPORARY TABLE membership AS SELECT m.class, d0.value AS x0, d1.value AS s0, sum(m.last - m.first + 1)::BIGINT AS n FROM temp.main.class_members AS m JOIN "aggregated_0" AS d0 ON d0.code = m.c0 JOIN "sensitive_50" AS d1 ON d1.code = m.c1 GROUP BY ALL;
CREATE TEMPORARY TABLE replaced AS FROM temp.main.class_aggregates;
SELECT count(*) FROM (SELECT first, last, lag(last, 1, 0) OVER (PARTITION BY c0, c1 ORDER BY first) AS before FROM temp.main.class_members) WHERE first <> before + 1 OR last < first;
SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM (SELECT x0, s0, n FROM membership) UNION ALL SELECT * FROM (SELECT p."it's ""q""" AS x0, p."s" AS s0, -1 FROM (SELECT * FROM "test"."main"."people" WHERE "it's ""q""" IS NOT NULL) AS p)) AS counted(k0, k1, n) GROUP BY k0, k1 HAVING sum(n) <> 0);
SELECT count(*) FROM (SELECT 1 FROM membership GROUP BY class HAVING sum(n) < 1);
SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM (SELECT r.a0, CAST(m.s0 AS VARCHAR) AS s0, m.n FROM membership AS m JOIN replaced AS r USING (class)) UNION ALL SELECT * FROM (SELECT "it's ""q""", "s", -1 FROM "test"."main"."released" WHERE NOT "gone")) AS counted(k0, k1, n) GROUP BY k0, k1 HAVING sum(n) <> 0);
SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM (SELECT "s", "i", 1 FROM "test"."main"."released" WHERE NOT "gone") UNION ALL SELECT * FROM (SELECT CAST(p."s" AS VARCHAR) AS v0, CAST(p."i" AS INTEGER) AS v1, -1 FROM (SELECT * FROM "test"."main"."people" WHERE "it's ""q""" IS NOT NULL) AS p)) AS counted(k0, k1, n) GROUP BY k0, k1 HAVING sum(n) <> 0);
CREATE TEMPORARY TABLE placed AS SELECT * FROM (SELECT class, raw, sum(n)::BIGINT, FALSE, FALSE, FALSE, FALSE FROM (SELECT class, CAST(x0 AS DOUBLE) AS raw, n FROM membership) GROUP BY class, raw) AS p(class, p, n, below, bottom, above, top);
SELECT coalesce(max(p) - min(p), 0), coalesce(max(abs(p)), 0) FROM placed;
SELECT count(*) FROM replaced AS r LEFT JOIN (SELECT class, p AS e FROM placed QUALIFY row_number() OVER (PARTITION BY class ORDER BY n DESC, p) = 1) AS x USING (class) WHERE NOT coalesce(abs(CAST(r.a0 AS DOUBLE) - x.e) <= 0.0, FALSE);
DROP TABLE IF EXISTS temp.main.placed;
DROP TABLE IF EXISTS temp.main.ranked;
DROP TABLE temp.main.membership;
DROP TABLE temp.main.replaced;

