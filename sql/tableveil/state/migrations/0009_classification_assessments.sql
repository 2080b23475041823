-- Classifier assessments of releases, for the owner: their figures come from suppressed records and from the source too.

ALTER TABLE tableveil.job_outcomes ADD COLUMN classification BIGINT;

CREATE TABLE tableveil.classifications (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    release BIGINT NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    sampled_records BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    folds INTEGER NOT NULL,
    published VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    warnings VARCHAR[] NOT NULL,
    request VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.classification_numbers;

CREATE TABLE tableveil.classification_columns (
    classification BIGINT NOT NULL,
    position INTEGER NOT NULL,
    class_column VARCHAR NOT NULL,
    features VARCHAR[] NOT NULL,
    labels VARCHAR[] NOT NULL,
    records BIGINT NOT NULL,
    folds INTEGER NOT NULL
);

-- One row per class column, classifier, and what it was trained on; the baseline is the classifier ZERO_R. No relative
-- accuracy: the original is no better than the baseline.
CREATE TABLE tableveil.classification_measures (
    classification BIGINT NOT NULL,
    class_column VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    classifier VARCHAR NOT NULL,
    trained_on VARCHAR NOT NULL,
    accuracy DOUBLE NOT NULL,
    brier DOUBLE NOT NULL,
    relative_accuracy DOUBLE
);

-- One row per class of each of them: how many of its records were told to be of each class, in the order of the labels,
-- and the points of its ROC curve.
CREATE TABLE tableveil.classification_classes (
    classification BIGINT NOT NULL,
    class_column VARCHAR NOT NULL,
    measures INTEGER NOT NULL,
    position INTEGER NOT NULL,
    label VARCHAR NOT NULL,
    precision DOUBLE,
    recall DOUBLE,
    auc DOUBLE,
    predicted BIGINT[] NOT NULL,
    false_positive_rates DOUBLE[] NOT NULL,
    true_positive_rates DOUBLE[] NOT NULL
);
