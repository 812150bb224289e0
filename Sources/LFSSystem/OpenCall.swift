#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A call that opens a file. When the process or the system has no descriptor left, it is tried again until another
/// file is closed.
///
/// Blocks the thread, up to ten seconds: the limit on descriptors says nothing about the file.
package enum OpenCall {
    private static let patience = Duration.seconds(10)
    /// In microseconds.
    private static let interval: UInt32 = 10_000

    /// Runs the call.
    ///
    /// - Parameters:
    ///   - path: the file, for the error.
    ///   - pause: waits before the next try.
    ///   - call: returns the descriptor, or -1 and leaves `errno`.
    package static func run(
        _ path: @autoclosure () -> String, pause: () -> Void = { usleep(interval) }, _ call: () -> Int32
    ) throws(SystemError) -> Int32 {
        var deadline: ContinuousClock.Instant?
        while true {
            do {
                return try checked("open", path(), call)
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
