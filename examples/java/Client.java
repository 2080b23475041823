// Submits a policy, waits for its job, and writes the released rows as an Arrow stream, which ArrowStreamReader of
// org.apache.arrow:arrow-vector reads: `java -cp STUBS:LIBRARIES Client.java policy.json NAME > released.arrows`. After
// a broken connection run it again with the same NAME, and it follows the same job. TABLEVEIL_SERVER, TABLEVEIL_TOKEN
// and, for TLS, TABLEVEIL_CA say whom to ask. `tableveil document convert` makes the JSON; docs/reference/grpc.md
// explains. The stubs are made by protoc with its plugin protoc-gen-grpc-java, as Maven's protobuf plugin runs it; the
// libraries are io.grpc:grpc-netty-shaded, grpc-protobuf and grpc-stub, com.google.protobuf:protobuf-java-util, and
// com.google.api.grpc:proto-google-common-protos.

import com.google.gson.Gson;
import com.google.protobuf.Any;
import com.google.protobuf.util.JsonFormat;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tableveil.v1.*;

public class Client {
    static final String RETRIES = """
        {"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.5s",
          "maxBackoff": "10s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}
        """;

    public static void main(String[] arguments) throws Exception {
        Policy.Builder policy = Policy.newBuilder();
        JsonFormat.parser().merge(Files.readString(Path.of(arguments[0])), policy);
        Map<String, String> environment = System.getenv();
        String authority = environment.get("TABLEVEIL_CA");
        ChannelCredentials secrecy = authority == null ? InsecureChannelCredentials.create()
            : TlsChannelCredentials.newBuilder().trustManager(new File(authority)).build();
        Metadata token = new Metadata();
        token.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
            "Bearer " + environment.get("TABLEVEIL_TOKEN"));
        var channel = Grpc.newChannelBuilder(environment.get("TABLEVEIL_SERVER"), secrecy).enableRetry()
            .defaultServiceConfig(new Gson().fromJson(RETRIES, Map.class))
            .intercept(MetadataUtils.newAttachHeadersInterceptor(token)).build();
        var jobs = JobServiceGrpc.newBlockingStub(channel);
        var releases = ReleaseServiceGrpc.newBlockingStub(channel);
        try {
            // The server may read the whole table before it answers.
            Job job = jobs.withDeadlineAfter(5, TimeUnit.MINUTES).submitJob(
                SubmitJobRequest.newBuilder().setPolicy(policy).setRequestId(arguments[1]).build());
            var changes = jobs.watchJob(WatchJobRequest.newBuilder().setName(job.getName()).build());
            while (!job.hasEndTime()) job = changes.next().getJob();
            if (job.getState() != JobState.JOB_STATE_SUCCEEDED) fail(job.getFailure(), policy);
            releases.readObject(ReadObjectRequest.newBuilder().setRelease(job.getResult())
                .setObject(policy.getRelease().getName()).build())
                .forEachRemaining(piece -> System.out.writeBytes(piece.getArrowIpc().toByteArray()));
            System.out.flush();
        } catch (StatusRuntimeException error) {
            for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
                if (detail.is(Failure.class)) fail(detail.unpack(Failure.class), policy);
            }
            throw error;
        } finally {
            channel.shutdown();
        }
    }

    /** Ends with what is wrong, and the column where the field is of one. */
    static void fail(Failure failure, PolicyOrBuilder policy) {
        System.err.println(failure.getCode() + ": " + failure.getMessage());
        for (Fault fault : failure.getFaultsList()) {
            Matcher match = Pattern.compile("^attributes\\[(\\d+)\\]").matcher(fault.getField());
            int position = match.find() ? Integer.parseInt(match.group(1)) : Integer.MAX_VALUE;
            String column = position < policy.getAttributesCount()
                ? " (column " + policy.getAttributes(position).getColumn() + ")" : "";
            System.err.println("  " + fault.getField() + column + ": found " + fault.getFound() + "; expected "
                + fault.getExpected() + ". " + fault.getHint());
        }
        System.exit(1);
    }
}
