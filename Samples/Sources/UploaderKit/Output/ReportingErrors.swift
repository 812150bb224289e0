import ArgumentParser

/// Runs a command's body; an error becomes a line on the standard error and exit status 1.
func reportingErrors<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw reported(error) }
}

/// The same for a body that waits.
func reportingErrors<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch { throw reported(error) }
}

/// What a body ends with by itself is told already, and what is wrong with the command line at the end.
private func reported(_ error: any Error) -> any Error {
    if error is ExitCode || error is ValidationError { return error }
    Console.message("uploader: \(Words.of(error))")
    return ExitCode(1)
}
