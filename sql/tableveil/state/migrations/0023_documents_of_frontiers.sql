-- The points of a frontier are one document, as the figures of a risk analysis are; the table of them becomes a view.
ALTER TABLE tableveil.frontiers ADD COLUMN document JSON DEFAULT '{}';

CREATE TEMP MACRO number_of(x) AS CASE WHEN x IS NULL OR isfinite(x) THEN to_json(x) ELSE to_json(x::VARCHAR) END;

UPDATE tableveil.frontiers SET document = json_object('points', coalesce((
    SELECT to_json(list(json_object(
        'k', p.k, 'suppression_limit', p.suppression_limit,
        'found', CASE WHEN p.score IS NOT NULL THEN json_object(
            'score', number_of(p.score), 'suppressed_records', p.suppressed_records, 'classes', p.classes, 'levels', p.levels
        ) END,
        'optimal', p.optimal, 'lower_bound', number_of(p.lower_bound)
    ) ORDER BY p.rowid)) FROM tableveil.frontier_points AS p WHERE p.frontier = number
), '[]'::JSON));

DROP MACRO temp.main.number_of;
DROP TABLE tableveil.frontier_points;

CREATE VIEW tableveil.frontier_points AS
SELECT frontier, (p->>'k')::INTEGER AS k, p->>'suppression_limit' AS suppression_limit, (p->>'$.found.score')::DOUBLE AS score,
    (p->>'$.found.suppressed_records')::BIGINT AS suppressed_records, (p->>'$.found.classes')::BIGINT AS classes,
    (p->'$.found.levels')::INTEGER[] AS levels, (p->>'optimal')::BOOLEAN AS optimal, (p->>'lower_bound')::DOUBLE AS lower_bound
FROM (SELECT number AS frontier, unnest(json_extract(document, '$.points[*]')) AS p FROM tableveil.frontiers);
