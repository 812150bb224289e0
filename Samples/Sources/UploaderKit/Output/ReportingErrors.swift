import ArgumentParser

/// Runs a command's body; an error becomes a line on the standard error and exit status 1.
func reportingErrors(_ body: () throws -> Void) throws {
    do { try body() } catch { throw reported(error) }
}

/// The same for a body that waits.
func reportingErrors(_ body: () async throws -> Void) async throws {
    do { try await body() } catch { throw reported(error) }
}

/// What a body ends with by itself is told already.
private func reported(_ error: any Error) -> ExitCode {
    if let status = error as? ExitCode { return status }
    Console.message("uploader: \(Words.of(error))")
    return ExitCode(1)
}
