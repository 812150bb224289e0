import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The resources that this process has used.
enum OwnUsage {
    /// Returns the peak resident memory. On Linux, `getrusage` includes the peak of the parent process, but `/proc`
    /// does not (proc_pid_status(5), VmHWM).
    static func peakBytes() throws -> Int64 {
        #if os(Linux)
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int64($0) })
        else { throw BenchError("/proc/self/status does not tell VmHWM.") }
        return kibibytes * 1_024
        #else
        return Cost.ownPeakBytes()
        #endif
    }

    /// Returns the user and system time of all threads, in seconds.
    static func cpuSeconds() throws -> Double {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else {
            throw BenchError("The processor time cannot be read: \(String(cString: strerror(errno))).")
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
