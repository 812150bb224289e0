import ArgumentParser
import Foundation

/// Runs the body of a measuring command with a temporary folder. A signal ends the running tool.
///
/// - Parameter body: returns true if every run succeeded.
/// - Throws: `ExitCode`.
func measuring(_ body: ([String: String], TemporaryFolder, ChildRunner) throws -> Bool) throws {
    do {
        let temporary = try TemporaryFolder()
        let runner = ChildRunner(folder: temporary.path)
        let interruption = Interruption { runner.interrupt($0) }
        let outcome = Result { try body(ProcessInfo.processInfo.environment, temporary, runner) }
        try temporary.remove()
        try withExtendedLifetime(interruption) {
            if let status = runner.interruption { throw ExitCode(status) }
            if try !outcome.get() { throw ExitCode(1) }
        }
    } catch let status as ExitCode {
        throw status
    } catch {
        Console.message("lfs-bench: \(error)")
        throw ExitCode(1)
    }
}
