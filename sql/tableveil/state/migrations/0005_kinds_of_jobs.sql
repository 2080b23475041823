-- Jobs of more kinds than releases and frontiers: a job's request says its kind, and what was asked for beside its
-- document; its outcome has the number of what came out in the column of that kind. The columns frontier_k and
-- frontier_limits are of earlier versions only: options says the same.

ALTER TABLE tableveil.jobs ADD COLUMN kind VARCHAR DEFAULT 'RELEASE';
ALTER TABLE tableveil.jobs ADD COLUMN options VARCHAR DEFAULT '';
ALTER TABLE tableveil.job_outcomes ADD COLUMN payout_sweep BIGINT;
ALTER TABLE tableveil.job_outcomes ADD COLUMN risk_analysis BIGINT;

UPDATE tableveil.jobs
SET kind = 'FRONTIER', options = to_json({'k': frontier_k, 'suppression_limits': frontier_limits})::VARCHAR
WHERE frontier_k IS NOT NULL;
