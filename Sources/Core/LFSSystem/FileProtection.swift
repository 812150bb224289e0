#if canImport(Darwin)
import Darwin
#endif

/// The protection of files on a locked Apple device. The system encrypts a file with a key that depends on its class.
///
/// Source: Apple, "Encrypting Your App's Files". On other systems it has no effect.
public enum FileProtection: Int32, Sendable, CaseIterable {
    /// Class A. Files cannot be read while the device is locked. Uploads wait until it is unlocked.
    case complete = 1
    /// Class B. Open files stay readable after the device is locked.
    case completeUnlessOpen = 2
    /// Class C. Files can be read after the device was unlocked once since its start.
    case completeUntilFirstUserAuthentication = 3
    /// Class D. Files can always be read, also before the device was unlocked once.
    case unprotected = 4
}

/// A setter of the protection class of folders and files. New files get the class of their folder.
package struct FileProtector: Sendable {
    /// Sets the class of an open file or folder.
    package typealias Call =
        @Sendable (_ descriptor: Int32, _ path: String, FileProtection) throws(SystemError) -> Void

    package let protection: FileProtection
    private let call: Call

    package init(_ protection: FileProtection, call: @escaping Call) {
        self.protection = protection
        self.call = call
    }

    /// The call of this system. Nil where files have no class.
    package static var systemCall: Call? {
        #if canImport(Darwin)
        // Source: XNU, bsd/sys/fcntl.h, F_SETPROTECTIONCLASS.
        let setProtectionClass: Int32 = 64
        return { descriptor, path, protection throws(SystemError) in
            do throws(SystemError) {
                try checked("fcntl", path) { fcntl(descriptor, setProtectionClass, protection.rawValue) }
            } catch let error where error.isUnknownCommand {
                // The simulator, and disks that are not encrypted by the system, have no classes.
            }
        }
        #else
        return nil
        #endif
    }

    /// Protects a file whose class may be another one, because it was moved.
    package func protect(_ file: Descriptor) throws(SystemError) { try call(file.raw, file.path, protection) }

    /// Protects a folder, and so the files that are created in it from now on.
    package func protect(_ folder: Directory) throws(SystemError) {
        try folder.withDescriptor { descriptor throws(SystemError) in try protect(descriptor) }
    }
}
