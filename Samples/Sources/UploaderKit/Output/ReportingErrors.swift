import ArgumentParser

/// Runs a command's body; an error becomes a line on the standard error and exit status 1.
///
/// - Parameter json: whether it becomes an event on the standard output as well.
func reportingErrors<Value>(json: Bool = false, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw reported(error, json) }
}

/// The same for a body that waits.
func reportingErrors<Value>(json: Bool = false, _ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch { throw reported(error, json) }
}

/// What a body ends with by itself is told already, and what is wrong with the command line at the end.
private func reported(_ error: any Error, _ json: Bool) -> any Error {
    if error is ExitCode || error is ValidationError { return error }
    Console.message("uploader: \(Words.of(error))")
    if json {
        var event = JSONEvent("error")
        event.reason = Words.of(error)
        Console.event(event)
    }
    return ExitCode(1)
}

/// A name that means nothing, told by a command without a report.
func tell(_ refusal: FileNaming.Refusal, json: Bool) {
    Console.message("uploader: \(refusal.words)")
    guard json else { return }
    var event = JSONEvent("failed")
    (event.path, event.reason) = (refusal.name, refusal.reason)
    Console.event(event)
}

extension Console {
    /// One event of `--json`.
    fileprivate static func event(_ event: JSONEvent) {
        do { result(try event.jsonLine()) } catch { message("uploader: \(Words.of(error))") }
    }
}
