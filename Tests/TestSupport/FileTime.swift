package import Foundation

/// Sets the modification time of a file, including times that Foundation's dates do not hold exactly.
package func setModified(_ file: URL, seconds: Int, nanoseconds: Int = 0) throws {
    let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
    var status = stat()
    guard utimensat(AT_FDCWD, file.path, [time, time], 0) == 0, stat(file.path, &status) == 0 else {
        throw CocoaError(.fileWriteUnknown)
    }
    #if canImport(Darwin)
    let modified = status.st_mtimespec
    #else
    let modified = status.st_mtim
    #endif
    // The file system does not hold the time.
    guard modified.tv_sec == seconds else { throw CocoaError(.featureUnsupported) }
}
