-- What was loaded into tables: from where, and how many rows came and lines were left out. The owner's.

CREATE TABLE tableveil.loads (
    number BIGINT PRIMARY KEY,
    request_id VARCHAR UNIQUE,
    request_digest VARCHAR NOT NULL,
    table_schema VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    row_count BIGINT NOT NULL,
    rejected_lines BIGINT NOT NULL,
    column_names VARCHAR[] NOT NULL,
    column_types VARCHAR[] NOT NULL,
    seconds DOUBLE NOT NULL
);
CREATE SEQUENCE tableveil.load_numbers;
