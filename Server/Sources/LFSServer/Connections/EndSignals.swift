public import UnixSignals

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The signals that start the shutdown of a server.
public enum EndSignals {
    /// Returns SIGTERM and SIGINT, and SIGHUP if a terminal controls the process. Closing the terminal sends SIGHUP.
    ///
    /// Without a terminal, the process ignores SIGHUP after this call, until the caller traps it. Under `nohup`, SIGHUP
    /// remains ignored. Tools that rotate logs or renew certificates send SIGHUP, so that a server reads its files
    /// again. Call this function once, before the server runs.
    public static func all() -> [UnixSignal] {
        guard !isIgnored(SIGHUP), hasTerminal else {
            _ = signal(SIGHUP, SIG_IGN)
            return [.sigterm, .sigint]
        }
        return [.sigterm, .sigint, .sighup]
    }

    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        // SIG_IGN is the address 1 on both systems.
        return unsafeBitCast(handler, to: Int.self) == 1
    }
}
