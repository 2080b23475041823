-- The figures of releases and dry runs are one document each, as those of risk analyses are. Labels of suppressed records,
-- rows of dry runs and distributions stay rows. The tables of a release's figures become views.
ALTER TABLE tableveil.releases ADD COLUMN document JSON DEFAULT '{}';
ALTER TABLE tableveil.dry_runs ADD COLUMN document JSON DEFAULT '{}';

CREATE TEMP MACRO number_of(x) AS CASE WHEN x IS NULL OR isfinite(x) THEN to_json(x) ELSE to_json(x::VARCHAR) END;
CREATE TEMP MACRO listed(parts) AS coalesce(to_json(parts), '[]'::JSON);
CREATE TEMP MACRO attribute_of(a) AS json_object(
    'column', a.column_name, 'level', a.level, 'top_level', a.top_level, 'loss', number_of(a.loss),
    'distinct_before', a.distinct_before, 'distinct_after', a.distinct_after, 'hierarchy', a.hierarchy,
    'part', number_of(a.part), 'levels', a.levels, 'aggregation', a.aggregation
);
CREATE TEMP MACRO guarantee_of(g) AS json_object(
    'model', g.model, 'column', g.column_name, 'parameter', g.parameter, 'before', number_of(g.before),
    'after', number_of(g.after)
);
CREATE TEMP MACRO exposure_of(e) AS json_object(
    'columns', e.column_names, 'knows', e.knows, 'found', e.found, 'few', e.few, 'total', e.total, 'least', e.least,
    'counts_people', e.counts_people
);
CREATE TEMP MACRO rejection_of(r) AS json_object(
    'privacy_model', r.privacy_model, 'classes', r.classes, 'records', r.records, 'only_classes', r.only_classes,
    'only_records', r.only_records, 'binds', r.binds
);
CREATE TEMP MACRO neighbour_of(n, rejections) AS json_object(
    'columns', n.columns, 'step', n.step, 'level', n.level, 'classes', n.classes, 'rejected_classes', n.rejected_classes,
    'suppressed_records', n.suppressed_records, 'records_over_limit', n.records_over_limit, 'score', number_of(n.score),
    'rejections', rejections
);
CREATE TEMP MACRO value_of(measures, name) AS list_filter(measures, lambda m: m.measure = name)[1].value;
CREATE TEMP MACRO risk_of(measures) AS json_object(
    'records', value_of(measures, 'records')::BIGINT, 'classes', value_of(measures, 'classes')::BIGINT,
    'highest', value_of(measures, 'highest_risk'), 'average', value_of(measures, 'average_risk'),
    'lowest', value_of(measures, 'lowest_risk'), 'unique_records', value_of(measures, 'unique_records')::BIGINT,
    'records_at_risk', listed(list_transform(
        list_filter(measures, lambda m: m.threshold IS NOT NULL),
        lambda m: json_array(m.threshold, m.value::BIGINT)
    ))
);

CREATE TEMP TABLE stages AS
SELECT kind, number, max(risk) FILTER (stage = 'before') AS before, max(risk) FILTER (stage = 'after') AS after,
    coalesce(max(risk) FILTER (stage = 'after_by_size'), after) AS by_size
FROM (
    SELECT kind, number, stage, risk_of(list({'measure': measure, 'threshold': threshold, 'value': value} ORDER BY place))
        ::VARCHAR AS risk
    FROM (
        SELECT 'release' AS kind, release AS number, *, rowid AS place FROM tableveil.release_risks
        UNION ALL BY NAME SELECT 'dry run' AS kind, dry_run AS number, *, rowid AS place FROM tableveil.dry_run_risks
    ) GROUP BY kind, number, stage
) GROUP BY kind, number;

CREATE TEMP TABLE explained AS
SELECT release, list(neighbour_of(n, r.rejections) ORDER BY position) AS neighbours
FROM tableveil.release_explanations AS n JOIN (
    SELECT n.release, n.position, listed(list(rejection_of(r) ORDER BY r.rowid) FILTER (r.release IS NOT NULL)) AS rejections
    FROM tableveil.release_explanations AS n LEFT JOIN tableveil.release_rejections AS r USING (release, position)
    GROUP BY n.release, n.position
) AS r USING (release, position) GROUP BY release;

UPDATE tableveil.releases SET document = json_object(
    'runners_up', listed((
        SELECT list(json_object('levels', r.levels, 'score', number_of(r.score), 'suppressed_records', r.suppressed_records)
            ORDER BY position) FROM tableveil.release_runners_up AS r WHERE release = number
    )),
    'itself', (SELECT neighbours[1] FROM explained WHERE release = number),
    'neighbours', listed((SELECT neighbours[2:] FROM explained WHERE release = number)),
    'attributes', listed((
        SELECT list(attribute_of(a) ORDER BY position) FROM tableveil.release_attributes AS a WHERE release = number
    )),
    'costs', listed((
        SELECT list(json_object('column', c.column_name, 'label', c.label, 'records', c.records, 'share', number_of(c.share))
            ORDER BY position) FROM tableveil.release_costs AS c WHERE release = number
    )),
    'guarantees', listed((
        SELECT list(guarantee_of(g) ORDER BY position) FROM tableveil.guarantees AS g WHERE release = number
    )),
    'exposures', listed((
        SELECT list(exposure_of(e) ORDER BY position) FROM tableveil.exposures AS e WHERE release = number
    )),
    'risk_before', (SELECT before::JSON FROM stages AS s WHERE kind = 'release' AND s.number = releases.number),
    'risk_after', (SELECT after::JSON FROM stages AS s WHERE kind = 'release' AND s.number = releases.number),
    'risk_by_size', (SELECT by_size::JSON FROM stages AS s WHERE kind = 'release' AND s.number = releases.number)
);

UPDATE tableveil.dry_runs SET document = json_object(
    'attributes', listed((
        SELECT list(attribute_of(a) ORDER BY position) FROM tableveil.dry_run_attributes AS a WHERE dry_run = number
    )),
    'guarantees', listed((
        SELECT list(guarantee_of(g) ORDER BY position) FROM tableveil.dry_run_guarantees AS g WHERE dry_run = number
    )),
    'exposures', listed((
        SELECT list(exposure_of(e) ORDER BY position) FROM tableveil.dry_run_exposures AS e WHERE dry_run = number
    )),
    'alternatives', listed((
        SELECT list(json_object(
            'k', a.k, 'suppression_limit', a.suppression_limit, 'score', number_of(a.score),
            'suppressed_records', a.suppressed_records
        ) ORDER BY position) FROM tableveil.dry_run_alternatives AS a WHERE dry_run = number
    )),
    'risk_before', (SELECT before::JSON FROM stages AS s WHERE kind = 'dry run' AND s.number = dry_runs.number),
    'risk_after', (SELECT after::JSON FROM stages AS s WHERE kind = 'dry run' AND s.number = dry_runs.number),
    'risk_by_size', (SELECT by_size::JSON FROM stages AS s WHERE kind = 'dry run' AND s.number = dry_runs.number)
);

DROP TABLE temp.main.explained;
DROP TABLE temp.main.stages;
DROP MACRO temp.main.risk_of;
DROP MACRO temp.main.value_of;
DROP MACRO temp.main.neighbour_of;
DROP MACRO temp.main.rejection_of;
DROP MACRO temp.main.exposure_of;
DROP MACRO temp.main.guarantee_of;
DROP MACRO temp.main.attribute_of;
DROP MACRO temp.main.listed;
DROP MACRO temp.main.number_of;
DROP TABLE tableveil.dry_run_alternatives;
DROP TABLE tableveil.dry_run_attributes;
DROP TABLE tableveil.dry_run_exposures;
DROP TABLE tableveil.dry_run_guarantees;
DROP TABLE tableveil.dry_run_risks;
DROP TABLE tableveil.exposures;
DROP TABLE tableveil.guarantees;
DROP TABLE tableveil.release_attributes;
DROP TABLE tableveil.release_costs;
DROP TABLE tableveil.release_explanations;
DROP TABLE tableveil.release_rejections;
DROP TABLE tableveil.release_risks;
DROP TABLE tableveil.release_runners_up;

CREATE VIEW tableveil.release_attributes AS
SELECT release, position, a->>'column' AS column_name, (a->>'level')::INTEGER AS level, (a->>'top_level')::INTEGER AS top_level,
    (a->>'loss')::DOUBLE AS loss, (a->>'distinct_before')::BIGINT AS distinct_before,
    (a->>'distinct_after')::BIGINT AS distinct_after, a->>'hierarchy' AS hierarchy, (a->>'part')::DOUBLE AS part,
    (a->'levels')::BIGINT[][] AS levels, a->>'aggregation' AS aggregation
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.attributes[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.attributes[*]')) AS a
    FROM tableveil.releases
);

CREATE VIEW tableveil.release_runners_up AS
SELECT release, position, (r->'levels')::INTEGER[] AS levels, (r->>'score')::DOUBLE AS score,
    (r->>'suppressed_records')::BIGINT AS suppressed_records
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.runners_up[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.runners_up[*]')) AS r
    FROM tableveil.releases
);

CREATE VIEW tableveil.release_explanations AS
SELECT release, position, (n->'columns')::VARCHAR[] AS columns, (n->>'step')::INTEGER AS step, (n->>'level')::INTEGER AS level,
    (n->>'classes')::BIGINT AS classes, (n->>'rejected_classes')::BIGINT AS rejected_classes,
    (n->>'suppressed_records')::BIGINT AS suppressed_records, (n->>'records_over_limit')::BIGINT AS records_over_limit,
    (n->>'score')::DOUBLE AS score
FROM (
    SELECT number AS release, 0 AS position, document->'itself' AS n FROM tableveil.releases WHERE document->>'itself' IS NOT NULL
    UNION ALL SELECT number, generate_subscripts(json_extract(document, '$.neighbours[*]'), 1)::INTEGER,
        unnest(json_extract(document, '$.neighbours[*]'))
    FROM tableveil.releases
);

CREATE VIEW tableveil.release_rejections AS
SELECT release, position, r->>'privacy_model' AS privacy_model, (r->>'classes')::BIGINT AS classes,
    (r->>'records')::BIGINT AS records, (r->>'only_classes')::BIGINT AS only_classes,
    (r->>'only_records')::BIGINT AS only_records, (r->>'binds')::BOOLEAN AS binds
FROM (
    SELECT number AS release, 0 AS position, unnest(json_extract(document, '$.itself.rejections[*]')) AS r FROM tableveil.releases
    UNION ALL SELECT release, position, unnest(json_extract(n, '$.rejections[*]'))
    FROM (
        SELECT number AS release, generate_subscripts(json_extract(document, '$.neighbours[*]'), 1)::INTEGER AS position,
            unnest(json_extract(document, '$.neighbours[*]')) AS n
        FROM tableveil.releases
    )
);

CREATE VIEW tableveil.release_costs AS
SELECT release, position, c->>'column' AS column_name, c->>'label' AS label, (c->>'records')::BIGINT AS records,
    (c->>'share')::DOUBLE AS share
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.costs[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.costs[*]')) AS c
    FROM tableveil.releases
);

CREATE VIEW tableveil.release_risks AS
WITH r AS (
    SELECT number AS release, unnest(['before', 'after', 'after_by_size']) AS stage,
        unnest([document->'risk_before', document->'risk_after', document->'risk_by_size']) AS risk
    FROM tableveil.releases
)
SELECT release, stage, measure, NULL::VARCHAR AS threshold, value FROM (
    SELECT release, stage,
        unnest(['records', 'classes', 'highest_risk', 'average_risk', 'lowest_risk', 'unique_records']) AS measure,
        unnest(json_extract_string(risk, ['records', 'classes', 'highest', 'average', 'lowest', 'unique_records']))::DOUBLE AS value
    FROM r
) WHERE value IS NOT NULL
UNION ALL SELECT release, stage, 'records_above_threshold', t->>0, (t->>1)::DOUBLE FROM (
    SELECT release, stage, unnest(json_extract(risk, '$.records_at_risk[*]')) AS t FROM r
);

CREATE VIEW tableveil.guarantees AS
SELECT release, position, g->>'model' AS model, g->>'column' AS column_name, g->>'parameter' AS parameter,
    (g->>'before')::DOUBLE AS before, (g->>'after')::DOUBLE AS after
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.guarantees[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.guarantees[*]')) AS g
    FROM tableveil.releases
);

CREATE VIEW tableveil.exposures AS
SELECT release, position, (e->'columns')::VARCHAR[] AS column_names, (e->'knows')::VARCHAR[] AS knows,
    (e->>'found')::BIGINT AS found, (e->>'few')::BIGINT AS few, (e->>'total')::BIGINT AS total, (e->>'least')::BIGINT AS least,
    (e->>'counts_people')::BOOLEAN AS counts_people
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.exposures[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.exposures[*]')) AS e
    FROM tableveil.releases
);
