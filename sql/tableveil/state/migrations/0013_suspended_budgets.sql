-- A budget is suspended where the ledger may have forgotten charges to it: nothing is charged to it until an admin sets it again.
ALTER TABLE tableveil.privacy_budgets ADD COLUMN suspended BOOLEAN DEFAULT false;
UPDATE tableveil.privacy_budgets SET suspended = true
WHERE set_at <= (SELECT max(noticed_at) FROM tableveil.ledger_gaps);
