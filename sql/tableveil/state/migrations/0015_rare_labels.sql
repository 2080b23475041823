-- Labels of fewer than k records are not kept any more: an erasure does not find people by them. Without a k it is three.
DELETE FROM tableveil.release_suppressions WHERE records < coalesce((
    SELECT max(try_cast(k AS INTEGER)) FROM (
        SELECT unnest(json_extract_string(policy, '$.privacy_models[*].k_anonymity.k')) AS k FROM tableveil.releases WHERE number = release
    )
), 3);
DELETE FROM tableveil.dry_run_suppressions WHERE records < coalesce((
    SELECT max(try_cast(k AS INTEGER)) FROM (
        SELECT unnest(json_extract_string(policy, '$.privacy_models[*].k_anonymity.k')) AS k FROM tableveil.dry_runs WHERE number = dry_run
    )
), 3);
