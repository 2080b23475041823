-- The findings of utility reports, classifier assessments and proposals are one document each. Erasures reach the labels in
-- the first two; they name a proposal whose policies have a value.
ALTER TABLE tableveil.utility_reports ADD COLUMN document JSON DEFAULT '{}';
ALTER TABLE tableveil.classifications ADD COLUMN document JSON DEFAULT '{}';
ALTER TABLE tableveil.proposals ADD COLUMN document JSON DEFAULT '{}';

CREATE TEMP MACRO number_of(x) AS CASE WHEN x IS NULL OR isfinite(x) THEN to_json(x) ELSE to_json(x::VARCHAR) END;
CREATE TEMP MACRO listed(parts) AS coalesce(to_json(parts), '[]'::JSON);
CREATE TEMP MACRO spread_of(s, bins) AS json_object(
    'records', s.records, 'missing', s.missing, 'distinct', s.distinct_values, 'mean', number_of(s.mean),
    'variance', number_of(s.variance), 'quantiles', listed(list_transform(s.quantiles, lambda q: number_of(q))), 'bins', bins
);
CREATE TEMP MACRO left_of(c) AS json_object(
    'column', c.column_name, 'labels', c.labels, 'hidden', number_of(c.hidden), 'erased', c.erased, 'loss', number_of(c.loss)
);

CREATE TEMP TABLE spreads AS
SELECT s.report, s.column_position, s.stage, spread_of(s, listed((
    SELECT list(json_object('label', b.label, 'records', b.records) ORDER BY position) FROM tableveil.utility_bins AS b
    WHERE b.report = s.report AND b.column_position = s.column_position AND b.stage = s.stage
))) AS spread FROM tableveil.utility_spreads AS s;

UPDATE tableveil.utility_reports SET document = json_object(
    'columns', listed((
        SELECT list(json_object(
            'column', c.column_name, 'type', c.type, 'role', c.role, 'treatment', c.treatment, 'loss', number_of(c.loss),
            'squared_error', c.squared_error, 'before', b.spread, 'after', a.spread
        ) ORDER BY position) FROM tableveil.utility_columns AS c
        JOIN spreads AS b ON b.report = c.report AND b.column_position = position AND b.stage = 'before'
        JOIN spreads AS a ON a.report = c.report AND a.column_position = position AND a.stage = 'after'
        WHERE c.report = number
    )),
    'associations', listed((
        SELECT list(json_object(
            'first', a.first_column, 'second', a.second_column, 'measure', a.measure, 'before', number_of(a.before),
            'after', number_of(a.after)
        ) ORDER BY position) FROM tableveil.utility_associations AS a WHERE report = number
    )),
    'rates', listed((
        SELECT list(json_object(
            'column', r.column_name, 'label', r.label, 'of', r.of_column, 'value', r.value, 'records_before', r.records_before,
            'having_before', r.having_before, 'records_after', r.records_after, 'having_after', r.having_after
        ) ORDER BY position) FROM tableveil.utility_rates AS r WHERE report = number
    ))
);

CREATE TEMP TABLE measured AS
SELECT m.classification, m.column_position, m.position, m.classifier, m.trained_on, m.relative_accuracy, json_object(
    'accuracy', number_of(m.accuracy), 'brier', number_of(m.brier), 'confusion', listed(confusion), 'classes', listed(classes)
) AS measures
FROM tableveil.classification_measures AS m LEFT JOIN (
    SELECT classification, column_position, measures AS position, list(predicted ORDER BY c.position) AS confusion,
        list(json_object(
            'label', label, 'precision', number_of(precision), 'recall', number_of(recall), 'auc', number_of(auc),
            'roc', listed(list_transform(
                list_zip(false_positive_rates, true_positive_rates), lambda p: json_array(number_of(p[1]), number_of(p[2]))
            ))
        ) ORDER BY c.position) AS classes
    FROM tableveil.classification_classes AS c GROUP BY ALL
) AS c USING (classification, column_position, position);

CREATE TEMP TABLE compared AS
SELECT a.classification, a.column_position, list(json_object(
    'classifier', a.classifier, 'original', o.measures, 'anonymized', a.measures,
    'relative_accuracy', number_of(a.relative_accuracy)
) ORDER BY a.position) AS comparisons
FROM measured AS a JOIN measured AS o
ON o.classification = a.classification AND o.column_position = a.column_position AND o.position = a.position - 1
WHERE a.trained_on = 'release' GROUP BY ALL;

UPDATE tableveil.classifications SET document = json_object('assessments', listed((
    SELECT list(json_object(
        'class_column', c.class_column, 'features', c.features, 'class_labels', c.labels, 'records', c.records,
        'folds', c.folds, 'baseline', b.measures, 'comparisons', listed(o.comparisons)
    ) ORDER BY c.position) FROM tableveil.classification_columns AS c
    JOIN measured AS b ON b.classification = c.classification AND b.column_position = c.position AND b.position = 0
    LEFT JOIN compared AS o ON o.classification = c.classification AND o.column_position = c.position
    WHERE c.classification = number
)));

UPDATE tableveil.proposals SET document = json_object(
    'findings', listed((
        SELECT list(json_object('column', f.column_name, 'kind', f.kind, 'records', f.records, 'repair', f.repair)
            ORDER BY position) FROM tableveil.proposal_findings AS f WHERE proposal = number
    )),
    'alternatives', listed((
        SELECT list(json_object(
            'policy', a.policy, 'method', a.method, 'k', a.k, 'score', number_of(a.score),
            'suppressed_records', a.suppressed_records, 'highest_risk', number_of(a.highest_risk),
            'columns', listed((
                SELECT list(left_of(c) ORDER BY c.position) FROM tableveil.proposal_columns AS c
                WHERE c.proposal = a.proposal AND c.alternative = a.position
            )),
            'decisions', a.decisions, 'failure', a.failure, 'recommended', a.recommended
        ) ORDER BY position) FROM tableveil.proposal_alternatives AS a WHERE proposal = number
    )),
    'ways', listed((
        SELECT list(json_object(
            'way', w.way, 'fewest_releases', w.fewest_releases, 'most_releases', w.most_releases,
            'months_each', w.months_each, 'futures', w.futures, 'refused', w.refused,
            'columns', listed((
                SELECT list(left_of(c) ORDER BY c.position) FROM tableveil.proposal_way_columns AS c
                WHERE c.proposal = w.proposal AND c.way = w.position
            )),
            'policy', w.policy
        ) ORDER BY position) FROM tableveil.proposal_ways AS w WHERE proposal = number
    ))
);

DROP TABLE temp.main.compared;
DROP TABLE temp.main.measured;
DROP TABLE temp.main.spreads;
DROP MACRO temp.main.left_of;
DROP MACRO temp.main.spread_of;
DROP MACRO temp.main.listed;
DROP MACRO temp.main.number_of;
DROP TABLE tableveil.classification_classes;
DROP TABLE tableveil.classification_columns;
DROP TABLE tableveil.classification_measures;
DROP TABLE tableveil.proposal_alternatives;
DROP TABLE tableveil.proposal_columns;
DROP TABLE tableveil.proposal_findings;
DROP TABLE tableveil.proposal_way_columns;
DROP TABLE tableveil.proposal_ways;
DROP TABLE tableveil.utility_associations;
DROP TABLE tableveil.utility_bins;
DROP TABLE tableveil.utility_columns;
DROP TABLE tableveil.utility_rates;
DROP TABLE tableveil.utility_spreads;

CREATE VIEW tableveil.utility_columns AS
SELECT report, position, c->>'column' AS column_name, c->>'type' AS type, c->>'role' AS role, c->>'treatment' AS treatment,
    (c->>'loss')::DOUBLE AS loss, (c->>'squared_error')::BOOLEAN AS squared_error
FROM (
    SELECT number AS report, (generate_subscripts(json_extract(document, '$.columns[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.columns[*]')) AS c
    FROM tableveil.utility_reports
);

CREATE VIEW tableveil.classification_measures AS
WITH assessed AS (
    SELECT number AS classification,
        (generate_subscripts(json_extract(document, '$.assessments[*]'), 1) - 1)::INTEGER AS column_position,
        unnest(json_extract(document, '$.assessments[*]')) AS a
    FROM tableveil.classifications
), compared AS (
    SELECT classification, column_position, generate_subscripts(json_extract(a, '$.comparisons[*]'), 1)::INTEGER AS place,
        unnest(json_extract(a, '$.comparisons[*]')) AS c
    FROM assessed
)
SELECT classification, column_position, position, classifier, trained_on, (m->>'accuracy')::DOUBLE AS accuracy,
    (m->>'brier')::DOUBLE AS brier, relative_accuracy::DOUBLE AS relative_accuracy
FROM (
    SELECT classification, column_position, 0 AS position, 'ZERO_R' AS classifier, 'input' AS trained_on, a->'baseline' AS m,
        NULL::VARCHAR AS relative_accuracy FROM assessed
    UNION ALL SELECT classification, column_position, 2 * place - 1, c->>'classifier', 'input', c->'original', NULL FROM compared
    UNION ALL SELECT classification, column_position, 2 * place, c->>'classifier', 'release', c->'anonymized',
        c->>'relative_accuracy' FROM compared
);
