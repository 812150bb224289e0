import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Starts processes, one at a time, and measures them. Ends the one that runs when this process is asked to end.
package final class ChildRunner: Sendable {
    private let folder: String
    private let state = Mutex(State())

    /// Which child runs, and whether there may be another.
    private struct State {
        var child: pid_t?
        var signal: Int32?
    }

    /// - Parameter folder: where the children's output waits until it is read.
    package init(folder: String) { self.folder = folder }

    /// The exit status that a signal asks for, nil when none came.
    package var interruption: Int32? { state.withLock { $0.signal.map { 128 + $0 } } }

    /// Ends the child and refuses others: by the signal TERM, by KILL when asked again or after two seconds.
    package func interrupt(_ signal: Int32) {
        let child = state.withLock { state in
            let isFirst = state.signal == nil
            state.signal = state.signal ?? signal
            // A child is a group of its own, so that its children end as well.
            if let child = state.child { kill(-child, isFirst ? SIGTERM : SIGKILL) }
            return state.child
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + 2) { [self] in
            state.withLock { state in
                if let child, state.child == child { kill(-child, SIGKILL) }
            }
        }
    }

    /// Runs a command to its end and measures it from before its start until it is gone.
    ///
    /// The cost is that of the child and of those of its own children that it waited for: `wait4` knows no others. Each
    /// of the tools measured here is a single process.
    ///
    /// - Throws: `BenchError` when it cannot be started, `Interrupted` after `interrupt`.
    package func run(_ command: ChildCommand) throws -> ChildResult {
        let (output, messages) = (folder + "/output", folder + "/messages")
        let clock = ContinuousClock()
        let start = clock.now
        let child = try state.withLock { state in
            guard state.signal == nil else { throw Interrupted() }
            let child = try spawn(command, output: output, messages: messages)
            state.child = child
            return child
        }
        var ended = siginfo_t()
        // The child stays a zombie until the lock is held: its number must not be another process's when it is
        // signalled.
        while waitid(P_PID, id_t(child), &ended, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let wall = clock.now - start
        var (status, usage) = (Int32(0), rusage())
        state.withLock { state in
            // What the child started may outlive it.
            if state.signal != nil { kill(-child, SIGKILL) }
            while wait4(child, &status, 0, &usage) < 0, errno == EINTR {}
            state.child = nil
        }
        if interruption != nil { throw Interrupted() }
        let signal = status & 0x7f
        return ChildResult(
            status: signal == 0 ? (status >> 8) & 0xff : 128 + signal, cost: Cost(wall: wall, usage: usage),
            output: try tail(of: output), messages: try tail(of: messages))
    }

    private func spawn(_ command: ChildCommand, output: String, messages: String) throws -> pid_t {
        #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
        #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (descriptor, path) in [(Int32(1), output), (2, messages)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setpgroup(&attributes, 0)
        // What this process ignores in order to watch it, a child must not ignore.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in Interruption.signals + [SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // The threads of Dispatch block all signals, and a child takes that over.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let arguments = ([command.executable] + command.arguments).map { strdup($0) } + [nil]
        let environment = command.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var child = pid_t()
        let code = posix_spawn(&child, command.executable, &actions, &attributes, arguments, environment)
        guard code == 0 else {
            throw BenchError("\(command.executable) cannot be started: \(String(cString: strerror(code))).")
        }
        return child
    }

    /// The end of a file; a tool that says a lot must not fill the memory.
    private func tail(of path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { file.closeFile() }
        let end = try file.seekToEnd()
        try file.seek(toOffset: end > 65_536 ? end - 65_536 : 0)
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }
}

/// The benchmark was asked to end.
package struct Interrupted: Error {}

extension Cost {
    fileprivate init(wall: Duration, usage: rusage) {
        self.init(
            wallSeconds: wall / .seconds(1), userSeconds: usage.ru_utime.seconds,
            systemSeconds: usage.ru_stime.seconds, peakBytes: usage.peakBytes)
    }

    /// The most memory that this process had resident at once.
    package static func ownPeakBytes() -> Int64 {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        return usage.peakBytes
    }
}

extension rusage {
    fileprivate var peakBytes: Int64 {
        #if canImport(Darwin)
        Int64(ru_maxrss)
        #else
        Int64(ru_maxrss) * 1_024
        #endif
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1_000_000 }
}
