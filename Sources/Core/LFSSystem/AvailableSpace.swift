#if canImport(Darwin)
import Foundation
#endif

/// The space of a volume that is available for files of the app.
enum AvailableSpace {
    /// Returns the number of available bytes.
    ///
    /// - Parameters:
    ///   - free: the number of free bytes of the file system.
    ///   - important: The number of bytes that the system makes available for files that a person needs, by removing
    ///     what can be made again. Nil where the system does not report it, and 0 on some external volumes.
    static func byteCount(free: Int64, important: Int64?) -> Int64 {
        guard let important, important > 0 else { return free }
        return important
    }

    /// Returns the number of bytes that the system makes available for important files. Nil where it does not report
    /// it.
    ///
    /// Source: Apple, "Checking Volume Storage Capacity".
    static func important(at path: String) -> Int64? {
        #if canImport(Darwin) && (os(iOS) || os(macOS))
        let url = URL(fileURLWithPath: path)
        // After an error the caller uses the number of free bytes.
        let values = try? url.resourceValues(forKeys: [.volumeAvailableCapacityForImportantUsageKey])
        return values?.volumeAvailableCapacityForImportantUsage
        #else
        return nil
        #endif
    }
}
