// Submits a policy, waits for its job, and writes the released rows as an Arrow stream, which ipc.NewReader of
// github.com/apache/arrow-go reads: `go run . policy.json NAME > released.arrows`. After a broken connection run it
// again with the same NAME, and it follows the same job. TABLEVEIL_SERVER, TABLEVEIL_TOKEN and, for TLS, TABLEVEIL_CA
// say whom to ask. `tableveil document convert` makes the JSON; docs/reference/grpc.md explains.
//
// Beside a clone of Tableveil and one of googleapis, the stubs are made so:
//
//	protoc -I tableveil/proto -I googleapis --go_out=. --go-grpc_out=. tableveil/proto/tableveil/v1/*.proto
//	cd github.com/tableveil/tableveil && go mod init github.com/tableveil/tableveil && go mod tidy
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"time"

	tableveil "github.com/tableveil/tableveil/proto/tableveil/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

const retries = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.5s",
  "maxBackoff": "10s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`

var policy = &tableveil.Policy{}

func main() {
	must(0, protojson.Unmarshal(must(os.ReadFile(os.Args[1])), policy))
	secrecy := insecure.NewCredentials()
	if authority := os.Getenv("TABLEVEIL_CA"); authority != "" {
		secrecy = must(credentials.NewClientTLSFromFile(authority, ""))
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(secrecy), grpc.WithDefaultServiceConfig(retries)}
	connection := must(grpc.NewClient(os.Getenv("TABLEVEIL_SERVER"), options...))
	jobs, releases := tableveil.NewJobServiceClient(connection), tableveil.NewReleaseServiceClient(connection)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+os.Getenv("TABLEVEIL_TOKEN"))

	// The server may read the whole table before it answers.
	soon, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	job := must(jobs.SubmitJob(soon, &tableveil.SubmitJobRequest{Policy: policy, RequestId: os.Args[2]}))
	changes := must(jobs.WatchJob(ctx, &tableveil.WatchJobRequest{Name: job.Name}))
	for job.EndTime == nil {
		job = must(changes.Recv()).Job
	}
	if job.State != tableveil.JobState_JOB_STATE_SUCCEEDED {
		fail(job.Failure)
	}
	object := &tableveil.ReadObjectRequest{Release: job.Result, Object: policy.Release.Name}
	pieces := must(releases.ReadObject(ctx, object))
	for piece, err := pieces.Recv(); err != io.EOF; piece, err = pieces.Recv() {
		must(os.Stdout.Write(must(piece, err).ArrowIpc))
	}
}

// The value of a call that did not fail.
func must[Value any](value Value, err error) Value {
	if err == nil {
		return value
	}
	for _, detail := range status.Convert(err).Details() {
		if failure, ok := detail.(*tableveil.Failure); ok {
			fail(failure)
		}
	}
	fail(&tableveil.Failure{Code: "CLIENT", Message: err.Error()})
	return value
}

// Ends with what is wrong, and the column where the field is of one.
func fail(failure *tableveil.Failure) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", failure.Code, failure.Message)
	for _, fault := range failure.Faults {
		where := fault.Field
		if match := regexp.MustCompile(`^attributes\[(\d+)\]`).FindStringSubmatch(where); match != nil {
			if position, _ := strconv.Atoi(match[1]); position < len(policy.Attributes) {
				where += fmt.Sprintf(" (column %s)", policy.Attributes[position].Column)
			}
		}
		fmt.Fprintf(os.Stderr, "  %s: found %s; expected %s. %s\n", where, fault.Found, fault.Expected, fault.Hint)
	}
	os.Exit(1)
}
