-- Rules that admins make for releases into a schema, whose name is folded: the newest version counts. With joint_k, one that
-- repeats people by a reason waits for approval, unless they all share joint classes of k.
CREATE TABLE tableveil.schema_rules (
    version INTEGER NOT NULL,
    schema_name VARCHAR NOT NULL,
    joint_k BOOLEAN NOT NULL,
    set_by VARCHAR NOT NULL,
    set_at TIMESTAMP NOT NULL,
    PRIMARY KEY (schema_name, version)
);
