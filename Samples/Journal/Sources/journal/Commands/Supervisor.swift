import ArgumentParser
import Foundation
import Synchronization
import UnixSignals

/// A process that starts the server of a demonstration again after it was killed.
///
/// The server asks to be killed with the signal SIGUSR1. It ends when its supervisor is gone, which it learns
/// from the end of its standard input.
struct Supervisor {
    /// The variables in the server's environment with the number of its restarts and the id of its supervisor.
    private static let variable = "JOURNAL_RESTARTS"
    private static let parentVariable = "JOURNAL_SUPERVISOR"
    /// The time until a kill, so that the browser gets the reply to its request.
    private static let delay = Duration.seconds(1)
    private static let maxRestarts = 1_000

    /// The number of restarts of this process. Nil if it has no supervisor.
    static var restarts: Int? { ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } }

    /// Asks the supervisor of this process to kill it, unless the supervisor is gone.
    static func requestKill() {
        let parent = getppid()
        guard ProcessInfo.processInfo.environment[parentVariable] == "\(parent)" else { return }
        kill(parent, SIGUSR1)
    }

    /// Ends this process as after a signal when its supervisor is gone.
    static func followSupervisor() {
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 {}
            kill(getpid(), SIGTERM)
        }
    }

    /// Runs the server with the arguments of this process, until it ends in another way than by a kill.
    ///
    /// - Throws: `ExitCode` with the status of the server.
    func run() async throws {
        let running = RunningServer()
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sigusr1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await signal in signals {
                    if signal == .sigusr1 { try await Task.sleep(for: Self.delay) }
                    let number = signal == .sigusr1 ? SIGKILL : signal == .sigint ? SIGINT : SIGTERM
                    if let id = running.id.withLock(\.self) { kill(id, number) }
                }
            }
            defer { group.cancelAll() }
            for restarts in 0..<Self.maxRestarts {
                let status = try await serve(restarts: restarts) { id in running.id.withLock { $0 = id } }
                guard status == SIGKILL + 128 else { throw ExitCode(status) }
            }
            throw ExitCode(1)
        }
    }

    /// Runs the server once.
    ///
    /// - Returns: The status, or 128 and the number of the signal that ended it.
    private func serve(restarts: Int, _ onStart: (Int32?) -> Void) async throws -> Int32 {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = Array(CommandLine.arguments.dropFirst())
        let own = [Self.variable: "\(restarts)", Self.parentVariable: "\(getpid())"]
        process.environment = ProcessInfo.processInfo.environment.merging(own) { $1 }
        // The writing end is open as long as this process runs.
        let input = Pipe()
        process.standardInput = input
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        try process.run()
        onStart(process.processIdentifier)
        for await _ in ends {}
        onStart(nil)
        try input.fileHandleForWriting.close()
        let status = process.terminationStatus
        return process.terminationReason == .uncaughtSignal ? status + 128 : status
    }
}

/// The id of the process of the server, or nil while none runs.
private final class RunningServer: Sendable {
    let id = Mutex<Int32?>(nil)
}
