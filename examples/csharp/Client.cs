// Submits a policy, waits for its job, and writes the released rows as an Arrow stream, which ArrowStreamReader of
// Apache.Arrow reads: `dotnet run policy.json NAME > released.arrows`. After a broken connection run it again with the
// same NAME, and it follows the same job. TABLEVEIL_TOKEN and TABLEVEIL_SERVER say whom to ask, the latter as an URL:
// https:// for a server with TLS whose authority this machine trusts, http:// on the same machine only. `tableveil
// document convert` makes the JSON; docs/reference/grpc.md explains. Grpc.Tools makes the stubs of the protos; the other
// packages are Grpc.Net.Client, Grpc.StatusProto and Google.Protobuf.

using System.Text.RegularExpressions;
using Google.Protobuf;
using Google.Rpc;
using Grpc.Core;
using Grpc.Net.Client;
using Grpc.Net.Client.Configuration;
using Tableveil.V1;

var policy = JsonParser.Default.Parse<Policy>(File.ReadAllText(args[0]));
var retries = new RetryPolicy
{
    MaxAttempts = 5, InitialBackoff = TimeSpan.FromSeconds(0.5), MaxBackoff = TimeSpan.FromSeconds(10),
    BackoffMultiplier = 2, RetryableStatusCodes = { StatusCode.Unavailable, StatusCode.ResourceExhausted },
};
var methods = new MethodConfig { Names = { MethodName.Default }, RetryPolicy = retries };
using var channel = GrpcChannel.ForAddress(
    Environment.GetEnvironmentVariable("TABLEVEIL_SERVER")!,
    new GrpcChannelOptions { ServiceConfig = new ServiceConfig { MethodConfigs = { methods } } });
var jobs = new JobService.JobServiceClient(channel);
var releases = new ReleaseService.ReleaseServiceClient(channel);
var headers = new Metadata { { "authorization", $"Bearer {Environment.GetEnvironmentVariable("TABLEVEIL_TOKEN")}" } };

try
{
    // The server may read the whole table before it answers.
    var soon = DateTime.UtcNow.AddMinutes(5);
    var job = jobs.SubmitJob(new SubmitJobRequest { Policy = policy, RequestId = args[1] }, headers, soon);
    using var changes = jobs.WatchJob(new WatchJobRequest { Name = job.Name }, headers);
    await foreach (var change in changes.ResponseStream.ReadAllAsync()) job = change.Job;
    if (job.State != JobState.Succeeded) return Fail(job.Failure ?? new Failure { Code = $"{job.State}" });
    var rows = new ReadObjectRequest { Release = job.Result, Object = policy.Release.Name };
    using var pieces = releases.ReadObject(rows, headers);
    using var output = Console.OpenStandardOutput();
    await foreach (var piece in pieces.ResponseStream.ReadAllAsync()) piece.ArrowIpc.WriteTo(output);
    return 0;
}
catch (RpcException error) when (error.GetRpcStatus()?.GetDetail<Failure>() is { } failure)
{
    return Fail(failure);
}

// Tells what is wrong, and the column where the field is of one.
int Fail(Failure failure)
{
    Console.Error.WriteLine($"{failure.Code}: {failure.Message}");
    foreach (var fault in failure.Faults)
    {
        var match = Regex.Match(fault.Field, @"^attributes\[(\d+)\]");
        var position = match.Success ? int.Parse(match.Groups[1].Value) : int.MaxValue;
        var column = position < policy.Attributes.Count ? $" (column {policy.Attributes[position].Column})" : "";
        Console.Error.WriteLine(
            $"  {fault.Field}{column}: found {fault.Found}; expected {fault.Expected}. {fault.Hint}");
    }
    return 1;
}
