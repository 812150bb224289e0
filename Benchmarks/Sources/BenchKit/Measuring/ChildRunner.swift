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

/// A runner that starts one process at a time and measures it. It ends the running process when this process is asked
/// to end.
package final class ChildRunner: Sendable {
    private let folder: String
    private let state = Mutex(State())

    /// The running child, and the signal that prevents further ones.
    private struct State {
        var child: pid_t?
        var signal: Int32?
    }

    /// - Parameter folder: the folder for the children's output until it is read.
    package init(folder: String) { self.folder = folder }

    /// The exit status that a received signal requires, or nil without a signal.
    package var interruption: Int32? { state.withLock { $0.signal.map { 128 + $0 } } }

    /// Ends the child and refuses others. The first call sends SIGTERM. A second call, or two seconds, sends SIGKILL.
    package func interrupt(_ signal: Int32) {
        let child = state.withLock { state in
            let isFirst = state.signal == nil
            state.signal = state.signal ?? signal
            // A child has its own process group, so its children receive the signal too.
            if let child = state.child { kill(-child, isFirst ? SIGTERM : SIGKILL) }
            return state.child
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + 2) { [self] in
            state.withLock { state in
                if let child, state.child == child { kill(-child, SIGKILL) }
            }
        }
    }

    /// Runs a command to its end, and measures it from before its start until its end.
    ///
    /// The cost includes the child and those of its children that it waited for, because `wait4` counts no others. Each
    /// of the measured tools is a single process.
    ///
    /// - Throws: `BenchError` if the command cannot be started, `Interrupted` after `interrupt`.
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
        // The child stays a zombie until the lock is held. Otherwise a signal could hit another process with the same
        // number.
        while waitid(P_PID, id_t(child), &ended, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let wall = clock.now - start
        var (status, usage) = (Int32(0), rusage())
        state.withLock { state in
            // Children of the child may outlive it.
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
        // A child must not ignore the signals that this process ignores and watches.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in Interruption.signals + [SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // Dispatch's threads block all signals, and a child inherits that.
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

    /// Returns the end of a file, because the output of a tool must not fill the memory.
    private func tail(of path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { file.closeFile() }
        let end = try file.seekToEnd()
        try file.seek(toOffset: end > 65_536 ? end - 65_536 : 0)
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }
}

/// An error that reports the interruption of the benchmark.
package struct Interrupted: Error {}

extension Cost {
    fileprivate init(wall: Duration, usage: rusage) {
        self.init(
            wallSeconds: wall / .seconds(1), userSeconds: usage.ru_utime.seconds,
            systemSeconds: usage.ru_stime.seconds, peakBytes: usage.peakBytes)
    }

    /// Returns the peak resident memory of this process.
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
