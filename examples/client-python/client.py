"""A client of a node in Python, generated from its proto file.

Lists the node's services by reflection, invokes a function, then starts one that would not end, watches it and cancels it.
Ends with an exception where anything is not as it should be. See README.md for how to run it.
"""

import argparse
import json
import pathlib
import threading
import uuid

import grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

import latent_pb2 as messages
import latent_pb2_grpc as services

EXPECTED_SERVICES = {
    f"latent.v1.{name}"
    for name in ("Invocation", "Releases", "Deployments", "Routes", "Logs", "Tenants", "Node")
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--invoke", required=True, help="host:port of the invoke listener")
    parser.add_argument("--control", required=True, help="host:port of the control listener")
    parser.add_argument("--token-file", required=True, type=pathlib.Path)
    parser.add_argument("--endless", required=True, help="a function that takes a minute, as SERVICE#FUNCTION")
    parser.add_argument("--endless-args", default="[60000]", help="its arguments, as JSON")
    return parser.parse_args()


def list_services(control):
    found = set(ProtoReflectionDescriptorDatabase(control).get_services())
    missing = EXPECTED_SERVICES - found
    assert not missing, f"reflection does not list {sorted(missing)}"
    print("services:", ", ".join(sorted(found)))


def invoke(stub, token):
    request = messages.InvokeRequest(
        service="text-stats",
        contract="analyze",
        function="analyze",
        payload=json.dumps(["the quick brown fox"]).encode(),
        media_type="application/json",
    )
    response, call = stub.Invoke.with_call(request, metadata=token, timeout=30)
    result = json.loads(response.result)
    assert result["ok"]["words"] == 4, result
    trailers = dict(call.initial_metadata()) | dict(call.trailing_metadata())
    assert trailers["latent-activation-id"] == response.activation_id, trailers
    print("result:", json.dumps(result), "fuel:", response.consumption.fuel)


def refuse(stub):
    try:
        stub.Invoke(messages.InvokeRequest(service="text-stats", function="analyze"), timeout=30)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAUTHENTICATED, error
        print("without a token:", error.details())
    else:
        raise AssertionError("a call without a token was answered")


def watch_and_cancel(invocation, watching, token, endless, payload):
    service, function = endless.split("#", 1)
    activation = f"python-{uuid.uuid4()}"
    request = messages.InvokeRequest(
        service=service, function=function, payload=payload.encode(), activation_id=activation, timeout={"seconds": 60}
    )
    future = invocation.Invoke.future(request, metadata=token)
    events = []
    running = threading.Event()

    def watch():
        wanted = messages.WatchActivationRequest(activation_id=activation)
        for event in watching.WatchActivation(wanted, metadata=token, timeout=60):
            events.append(event)
            if event.phase == "running":
                running.set()

    # The record is there once the call has been accepted; asking earlier is answered with NOT_FOUND.
    while not future.done():
        try:
            watching.GetActivation(messages.GetActivationRequest(activation_id=activation), metadata=token)
            break
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND, error
    watcher = threading.Thread(target=watch)
    watcher.start()
    assert running.wait(30), f"it never ran: {events}"
    answer = watching.Cancel(messages.CancelRequest(activation_id=activation, reason="seen enough"), metadata=token)
    assert answer.disposition == messages.CANCEL_DISPOSITION_ACCEPTED, answer
    failure = future.exception(timeout=30)
    assert failure is not None and failure.code() == grpc.StatusCode.CANCELLED, failure
    watcher.join(30)
    assert events[-1].terminal == "cancelled", events
    assert [event.sequence for event in events] == sorted({event.sequence for event in events}), events
    record = watching.GetActivation(messages.GetActivationRequest(activation_id=activation), metadata=token)
    assert record.terminal.state == "cancelled" and record.cancel_reason == "seen enough", record
    listed = watching.ListActivations(messages.ListActivationsRequest(page_size=10), metadata=token)
    assert activation in {line.activation_id for line in listed.activations}, listed
    print("cancelled:", " -> ".join(event.terminal or event.phase for event in events))


def main():
    options = arguments()
    token = (("authorization", f"Bearer {options.token_file.read_text().strip()}"),)
    with grpc.insecure_channel(options.invoke) as invoke_channel, grpc.insecure_channel(options.control) as control:
        invocation, watching = services.InvocationStub(invoke_channel), services.InvocationStub(control)
        list_services(control)
        invoke(invocation, token)
        refuse(invocation)
        watch_and_cancel(invocation, watching, token, options.endless, options.endless_args)


if __name__ == "__main__":
    main()
