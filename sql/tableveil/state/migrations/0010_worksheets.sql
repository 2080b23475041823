-- Worksheets: decisions about a table that is not released yet, as documents of the service.
CREATE TABLE tableveil.worksheets (
    number BIGINT PRIMARY KEY,
    table_schema VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    revision BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    updated_by VARCHAR NOT NULL,
    contents VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.worksheet_numbers;
