#if canImport(Darwin)
import Foundation
#endif

/// The exclusion of files and folders from the backups of an Apple device.
///
/// The system stores it as an extended attribute, which a rename keeps. The files in an excluded folder are excluded
/// too.
package struct BackupExclusion: Sendable {
    /// Sets whether a file or a folder is excluded.
    package typealias Call = @Sendable (_ path: String, _ isExcluded: Bool) throws -> Void

    private let call: Call

    package init(call: @escaping Call) {
        self.call = call
    }

    /// The call of this system. Nil where the system has no such backups.
    package static var systemCall: Call? {
        #if canImport(Darwin)
        return { path, isExcluded in
            var url = URL(fileURLWithPath: path)
            let before = try url.resourceValues(forKeys: [.isExcludedFromBackupKey]).isExcludedFromBackup
            if before == isExcluded { return }
            var values = URLResourceValues()
            values.isExcludedFromBackup = isExcluded
            try url.setResourceValues(values)
        }
        #else
        return nil
        #endif
    }

    package func exclude(_ path: String) throws { try call(path, true) }

    package func include(_ path: String) throws { try call(path, false) }
}
