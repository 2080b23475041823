-- The figures of a risk analysis are one document: no query joins them. A number that JSON lacks is a text, such as "inf".
ALTER TABLE tableveil.risk_analyses ADD COLUMN document JSON DEFAULT '{}';

CREATE TEMP MACRO number_of(x) AS CASE WHEN x IS NULL OR isfinite(x) THEN to_json(x) ELSE to_json(x::VARCHAR) END;
CREATE TEMP MACRO measure_of(m) AS json_object(
    'model', m.model, 'measure', m.measure, 'threshold', m.threshold, 'value', number_of(m.value)
);

UPDATE tableveil.risk_analyses SET document = json_object(
    'measures', coalesce((
        SELECT to_json(list(measure_of(m) ORDER BY position)) FROM tableveil.risk_measures AS m WHERE analysis = number
    ), '[]'::JSON),
    'subsets', coalesce((
        SELECT to_json(list(json_object(
            'columns', s.columns, 'distinction', number_of(s.distinction), 'separation', number_of(s.separation),
            'unique_records', s.unique_records, 'minimal_unique_records', s.minimal_unique_records, 'proposed', s.proposed
        ) ORDER BY position)) FROM tableveil.attribute_risks AS s WHERE analysis = number
    ), '[]'::JSON),
    'compared', coalesce((
        SELECT to_json(list(json_object('columns', c.columns, 'measures', coalesce(c.measures, '[]'::JSON)) ORDER BY position))
        FROM (
            SELECT r.analysis, r.position, any_value(r.columns) AS columns,
                to_json(list(measure_of(m) ORDER BY m.position) FILTER (m.model IS NOT NULL)) AS measures
            FROM tableveil.compared_risks AS r
            LEFT JOIN tableveil.compared_measures AS m ON m.analysis = r.analysis AND m.compared = r.position
            GROUP BY r.analysis, r.position
        ) AS c WHERE c.analysis = number
    ), '[]'::JSON)
);

DROP MACRO temp.main.measure_of;
DROP MACRO temp.main.number_of;
DROP TABLE tableveil.compared_measures;
DROP TABLE tableveil.compared_risks;
DROP TABLE tableveil.attribute_risks;
DROP TABLE tableveil.risk_measures;

CREATE VIEW tableveil.risk_measures AS
SELECT analysis, position, m->>'model' AS model, m->>'measure' AS measure, m->>'threshold' AS threshold,
    (m->>'value')::DOUBLE AS value
FROM (
    SELECT number AS analysis, (generate_subscripts(json_extract(document, '$.measures[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.measures[*]')) AS m
    FROM tableveil.risk_analyses
);
