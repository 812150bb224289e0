#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A call that opens a file. If the process or the system has no descriptor left, except those of
/// ``OpenFileLimit/isReserved(_:)``, the call is retried until another file is closed.
///
/// Blocks the thread for up to ten seconds. It retries because the shortage of descriptors has nothing to do with the
/// file.
package enum OpenCall {
    private static let patience = Duration.seconds(10)
    /// The delay before the next attempt, in microseconds.
    private static let interval: UInt32 = 10_000

    /// Runs the call.
    ///
    /// - Parameters:
    ///   - path: the file, for the error.
    ///   - pause: waits before the next attempt.
    ///   - call: returns the descriptor, or -1 and sets `errno`. It creates no file.
    package static func run(
        _ path: @autoclosure () -> String, pause: () -> Void = { usleep(interval) }, _ call: () -> Int32
    ) throws(SystemError) -> Int32 {
        try run(path(), flags: 0, pause: pause) { _ in call() }
    }

    /// Runs a call that may create the file.
    ///
    /// - Parameters:
    ///   - path: the file, for the error.
    ///   - flags: the flags of the first attempt. An attempt that created the file and got a reserved descriptor is
    ///     followed by one without `O_EXCL`.
    ///   - pause: waits before the next attempt.
    ///   - call: takes the flags, and returns the descriptor, or -1 and sets `errno`.
    package static func run(
        _ path: @autoclosure () -> String, flags: Int32, pause: () -> Void = { usleep(interval) },
        _ call: (Int32) -> Int32
    ) throws(SystemError) -> Int32 {
        var flags = flags
        var deadline: ContinuousClock.Instant?
        while true {
            do throws(SystemError) {
                let number = try checked("open", path()) { call(flags) }
                if !OpenFileLimit.isReserved(number) { return number }
                close(number)
                flags &= ~O_EXCL
                throw SystemError(call: "open", path: path(), errno: EMFILE)
            } catch let error where error.isDescriptorShortage {
                let now = ContinuousClock.now
                let end = deadline ?? now + patience
                guard now < end else { throw error }
                deadline = end
                pause()
            }
        }
    }
}
