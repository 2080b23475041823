-- Texts of a job that depend on other releases than its own: a warning, a refusal, or a measure of what is reached. Only
-- readers of all these releases are told. The empty text stands for all evidence of a release that was judged together with them.
CREATE TABLE tableveil.joint_texts (
    job BIGINT NOT NULL,
    text VARCHAR NOT NULL,
    releases BIGINT[] NOT NULL
);
INSERT INTO tableveil.joint_texts SELECT job, '', list(other)
FROM tableveil.release_together JOIN tableveil.releases ON number = release GROUP BY job;
INSERT INTO tableveil.joint_texts
SELECT job, text, list_transform(regexp_extract_all(text, 'releases/(\d+)', 1), lambda name: coalesce(try_cast(name AS BIGINT), 0))
FROM (
    SELECT job, unnest(warnings) AS text FROM tableveil.releases
    UNION SELECT job, unnest(warnings) FROM tableveil.dry_runs
    UNION SELECT job, unnest(refusals) FROM tableveil.dry_runs
    UNION SELECT job, model FROM tableveil.guarantees JOIN tableveil.releases ON number = release
    UNION SELECT job, model FROM tableveil.dry_run_guarantees JOIN tableveil.dry_runs ON number = dry_run
)
WHERE text LIKE '%releases/%';
