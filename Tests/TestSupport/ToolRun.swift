package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Runs a command quietly, found by `PATH`. Returns whether it succeeded. Blocks the thread.
///
/// Foundation's `Process` reads past the names in `/proc/self/fd`, which the address sanitizer reports.
@discardableResult
package func runTool(_ name: String, _ arguments: [String]) throws -> Bool {
    try ToolRun(name, arguments).run() == 0
}

/// One run of a command.
package struct ToolRun: Sendable {
    /// A path, or a name that `PATH` finds.
    package var tool: String
    package var arguments: [String]
    /// What the command sees; nil for what this process sees.
    package var environment: [String: String]?
    /// The file that takes what it prints, errors included; nil throws that away.
    package var output: URL?

    package init(_ tool: String, _ arguments: [String]) {
        self.tool = tool
        self.arguments = arguments
    }

    /// Returns the exit status, or 128 and the number of the signal that ended it. Blocks the thread.
    package func run() throws -> Int32 {
        var actions = FileActions()
        defer { actions.destroy() }
        try actions.open(0, "/dev/null", O_RDONLY)
        try actions.open(1, output?.path ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC)
        try actions.copy(1, to: 2)
        let environment = environment ?? ProcessInfo.processInfo.environment
        let process = try withCStrings([tool] + arguments) { arguments in
            try withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                var process: pid_t = 0
                try require(posix_spawnp(&process, tool, &actions.value, nil, arguments, environment), tool)
                return process
            }
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw ToolFailure(what: tool, reason: String(cString: strerror(errno))) }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    /// As ``run()``, on a thread of its own.
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

    mutating func open(_ number: Int32, _ path: String, _ flags: Int32) throws {
        try require(posix_spawn_file_actions_addopen(&value, number, path, flags, 0o600), path)
    }

    mutating func copy(_ from: Int32, to number: Int32) throws {
        try require(posix_spawn_file_actions_adddup2(&value, from, number), "descriptor \(number)")
    }
}

private func require(_ result: Int32, _ what: String) throws {
    guard result == 0 else { throw ToolFailure(what: what, reason: String(cString: strerror(result))) }
}

private func withCStrings<Value>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) throws -> Value
) rethrows -> Value {
    let copies = texts.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return try body(copies + [nil])
}
