package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Runs a command quietly, found by `PATH`. Returns true if it succeeded. Blocks the thread.
///
/// Foundation's `Process` reads past the names in `/proc/self/fd`, which the address sanitizer reports.
@discardableResult
package func runTool(_ name: String, arguments: [String]) throws -> Bool {
    try ToolRun(name, arguments: arguments).run() == 0
}

/// A single run of a command.
package struct ToolRun: Sendable {
    /// A path, or a name that `PATH` finds.
    package var tool: String
    package var arguments: [String]
    /// The environment of the command, or nil for the environment of this process.
    package var environment: [String: String]?
    /// The file for the output, errors included. Nil discards the output.
    package var output: URL?

    package init(_ tool: String, arguments: [String]) {
        self.tool = tool
        self.arguments = arguments
    }

    /// Returns the exit status, or 128 plus the number of the signal that ended the command. Blocks the thread.
    package func run() throws -> Int32 {
        var actions = FileActions()
        defer { actions.destroy() }
        try actions.open(0, path: "/dev/null", flags: O_RDONLY)
        try actions.open(1, path: output?.path ?? "/dev/null", flags: O_WRONLY | O_CREAT | O_TRUNC)
        try actions.copy(1, to: 2)
        let environment = environment ?? ProcessInfo.processInfo.environment
        let process = try withCStrings([tool] + arguments) { arguments in
            try withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                var process: pid_t = 0
                try require(posix_spawnp(&process, tool, &actions.value, nil, arguments, environment), what: tool)
                return process
            }
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw ToolFailure(what: tool, reason: String(cString: strerror(errno))) }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    /// Runs the command like ``run()``, on a new thread.
    package func finish() async throws -> Int32 {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try run() }) }
        }
    }
}

package struct ToolFailure: Error {
    package let what: String
    package let reason: String
}

private struct FileActions {
    #if canImport(Darwin)
    var value: posix_spawn_file_actions_t?
    #else
    var value = posix_spawn_file_actions_t()
    #endif

    init() { posix_spawn_file_actions_init(&value) }

    mutating func destroy() { posix_spawn_file_actions_destroy(&value) }

    mutating func open(_ number: Int32, path: String, flags: Int32) throws {
        try require(posix_spawn_file_actions_addopen(&value, number, path, flags, 0o600), what: path)
    }

    mutating func copy(_ from: Int32, to number: Int32) throws {
        try require(posix_spawn_file_actions_adddup2(&value, from, number), what: "descriptor \(number)")
    }
}

private func require(_ result: Int32, what: String) throws {
    guard result == 0 else { throw ToolFailure(what: what, reason: String(cString: strerror(result))) }
}

private func withCStrings<Value>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) throws -> Value
) rethrows -> Value {
    let copies = texts.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return try body(copies + [nil])
}
