#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Goes through files and folders one name at a time, depth first. Symbolic links are not followed, but for those that
/// are named themselves.
struct FileWalk {
    /// A name that was met.
    enum Item: Equatable {
        case file(Candidate)
        /// Not to be read, with the reason.
        case unreadable(FilePath, String)
        /// A link, a pipe, a device: left alone on purpose.
        case notAFile(FilePath, String)
    }

    struct Candidate: Hashable, Sendable {
        /// From the root of the file system.
        let path: FilePath
        /// From the name of the folder that was given on, or the file's name.
        let title: FilePath
        let stamp: FileStamp
        /// Whether a link at the path is followed.
        let followsLink: Bool
    }

    private struct Folder {
        let path: FilePath
        let title: FilePath
        var names: [[UInt8]]
    }

    /// What a file or folder is, whatever path leads to it.
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    private var roots: [FilePath]
    private var folders: [Folder] = []
    private let excluded: Set<Identity>

    /// - Parameters:
    ///   - paths: files and folders; relative ones are resolved from the given folder.
    ///   - excluded: files and folders to leave out, those that we write to ourselves.
    init(_ paths: [String], from folder: String, excluding excluded: [String] = []) {
        roots = paths.map { FilePath($0).absolute(from: folder) }.reversed()
        self.excluded = Set(
            excluded.compactMap { path in
                var status = stat()
                return stat(path, &status) == 0 ? Identity(status) : nil
            })
    }

    /// The next name, nil when there is none left.
    mutating func next() -> Item? {
        while true {
            if !folders.isEmpty, let name = folders[folders.count - 1].names.popLast() {
                let folder = folders[folders.count - 1]
                if let item = visit(folder.path.appending(name), folder.title.appending(name)) { return item }
            } else if folders.popLast() == nil {
                guard let root = roots.popLast() else { return nil }
                if let item = visit(root, root.lastComponent, followsLink: true) { return item }
            }
        }
    }

    /// Looks at one name. A folder is entered, which is no item.
    private mutating func visit(_ path: FilePath, _ title: FilePath, followsLink: Bool = false) -> Item? {
        var status = stat()
        guard path.withCString({ followsLink ? stat($0, &status) : lstat($0, &status) }) == 0 else {
            return .unreadable(path, Self.reason())
        }
        if excluded.contains(Identity(status)) { return .notAFile(path, "it belongs to the uploader itself") }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            return .file(Candidate(path: path, title: title, stamp: FileStamp(status), followsLink: followsLink))
        case S_IFDIR:
            guard let names = Self.names(in: path) else { return .unreadable(path, Self.reason()) }
            folders.append(Folder(path: path, title: title, names: names))
            return nil
        case S_IFLNK: return .notAFile(path, "symbolic links are not followed")
        default: return .notAFile(path, "not a regular file")
        }
    }

    /// The names in a folder, nil with `errno` set when it cannot be read.
    private static func names(in path: FilePath) -> [[UInt8]]? {
        guard let stream = path.withCString({ opendir($0) }) else { return nil }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { return errno == 0 ? names : nil }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
