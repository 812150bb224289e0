#if os(Linux)
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif
package import LFSSystem

/// Lets every later sync of an open folder fail with `EBADF`. All other calls on the folder still work.
///
/// - Parameter folder: the descriptor of the folder. It is replaced by one with `O_PATH`, which fsync(2) refuses.
package func breakSync(of folder: Descriptor) throws(SystemError) {
    // Swift does not import the constant O_PATH.
    let onlyPath: Int32 = 0o10000000
    let number = try checked("open", folder.path) {
        open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | onlyPath)
    }
    defer { close(number) }
    try checked("dup2", folder.path) { dup2(number, folder.raw) }
}
#endif
