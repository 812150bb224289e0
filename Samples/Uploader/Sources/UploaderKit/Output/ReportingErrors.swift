import ArgumentParser

/// Runs a command's body. An error becomes a line on standard error and exit status 1.
///
/// - Parameter json: true if the error is also an event on standard output.
func reportingErrors<Value>(json: Bool = false, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw reported(error, json: json) }
}

/// Runs an asynchronous body in the same way.
func reportingErrors<Value>(json: Bool = false, _ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch { throw reported(error, json: json) }
}

/// Reports an error. Exit codes were reported before, and errors of the command line are reported at the end.
private func reported(_ error: any Error, json: Bool) -> any Error {
    if error is ExitCode || error is ValidationError { return error }
    Console.message("uploader: \(ErrorMessages.of(error))")
    if json {
        var event = JSONEvent("error")
        event.reason = ErrorMessages.of(error)
        Console.event(event)
    }
    return ExitCode(1)
}

/// Reports an unknown name for a command without a report.
func tell(_ refusal: FileNaming.Refusal, json: Bool) {
    Console.message("uploader: \(refusal.words)")
    guard json else { return }
    var event = JSONEvent("failed")
    event.path = refusal.name
    event.reason = refusal.reason
    Console.event(event)
}

extension Console {
    /// Prints an event of `--json`.
    fileprivate static func event(_ event: JSONEvent) {
        do { result(try event.jsonLine()) } catch { message("uploader: \(ErrorMessages.of(error))") }
    }
}
