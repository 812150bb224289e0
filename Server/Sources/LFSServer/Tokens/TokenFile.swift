import Crypto
public import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The users of a server with the SHA-256 of their tokens, in a file of lines `<64 hex digits> <name>`. Only the owner
/// may read the file. Empty lines and those that start with `#` are kept.
///
/// The file does not contain the tokens, so a reader of the file cannot use them. A token has 256 random bits and
/// cannot be guessed from its hash.
public struct TokenFile: Sendable {
    /// A token of a user.
    public struct Entry: Hashable, Sendable {
        /// The SHA-256 of the token, in lowercase hex.
        public let sha256: String
        /// The user's name: 1 to 64 of `A`-`Z`, `a`-`z`, `0`-`9`, `.`, `_`, `@` and `-`. The user's objects are
        /// recorded under this name. Two tokens with one name belong to one user. A name that is given to another user
        /// also gives that user the stored objects.
        public let name: String
    }

    /// An error of the file, with a message that explains the fix.
    public struct Failure: LocalizedError, Sendable, CustomStringConvertible {
        /// A sentence for the administrator.
        public let description: String

        /// The same text as ``description``, for alerts.
        public var errorDescription: String? { description }
    }

    /// A line of the file.
    private struct Line: Hashable {
        let text: String
        /// Nil for a comment and for an empty line.
        var entry: Entry?
    }

    /// The entries in the order of the file.
    public private(set) var entries: [Entry]
    private var lines: [Line] = []
    private let path: String

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - mayBeMissing: true to treat a missing file as an empty one.
    /// - Throws: ``Failure`` if the file cannot be read, if others may read it, or if a line is wrong.
    public init(path: String, mayBeMissing: Bool = false) throws {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT, mayBeMissing else {
                throw Failure(
                    description: "The file of tokens \(path) cannot be read: \(String(cString: strerror(errno))). "
                        + "Create one: lfs-server token add --tokens \(path) --account NAME")
            }
            entries = []
            return
        }
        guard status.st_size == 0 || status.st_mode & 0o077 == 0 else {
            throw Failure(description: "Others may read or change the file of tokens: chmod 600 \(path)")
        }
        guard status.st_size <= 16 << 20, let data = FileManager.default.contents(atPath: path),
            let text = String(data: data, encoding: .utf8)
        else { throw Failure(description: "\(path) is not a file of tokens.") }
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") {
                lines.append(Line(text: String(line)))
                continue
            }
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2, Self.isHash(words[0]), Self.isName(words[1]) else {
                throw Failure(description: "Line \(index + 1) of \(path) is not a hash and a name.")
            }
            lines.append(Line(text: String(line), entry: Entry(sha256: words[0], name: words[1])))
        }
        // What follows the last line break is not a line.
        if lines.last?.text == "" { lines.removeLast() }
        entries = lines.compactMap(\.entry)
    }

    /// Returns the owner of a token, or nil for an unknown token. The time does not depend on the token.
    public func name(of token: String) -> String? {
        let hash = Array(Self.hash(token).utf8)
        var found: String?
        for entry in entries {
            // Compares all entries and all of their bytes, so that the time is constant.
            let difference = zip(entry.sha256.utf8, hash).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) }
            if difference == 0 { found = entry.name }
        }
        return found
    }

    /// Creates a token for a user and adds it. The file is read again and replaced atomically, with mode 0600 and its
    /// owner.
    ///
    /// - Returns: the token, which is stored nowhere else.
    /// - Throws: ``Failure``.
    public mutating func add(_ name: String) throws -> String {
        guard Self.isName(name) else {
            throw Failure(
                description: "'\(Self.shown(name))' is not a name. Use 1 to 64 letters, digits, '.', '_', '@' and '-'."
            )
        }
        let token =
            "lfs_"
            + SymmetricKey(size: .bits256).withUnsafeBytes { bytes in
                Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                    "=", with: "")
            }
        let hash = Self.hash(token)
        try change { $0 + [Line(text: "\(hash) \(name)", entry: Entry(sha256: hash, name: name))] }
        return token
    }

    /// Removes all tokens of a user. The user's objects stay, and are accessible again with a new token.
    ///
    /// - Returns: the number of removed tokens.
    /// - Throws: ``Failure``.
    public mutating func revoke(_ name: String) throws -> Int {
        var count = 0
        try change { lines in
            let rest = lines.filter { $0.entry?.name != name }
            count = lines.count - rest.count
            return rest
        }
        return count
    }

    /// Changes the lines that the file has now. Another process may have changed them since they were read, and waits
    /// until this change is complete.
    private mutating func change(_ body: ([Line]) -> [Line]) throws {
        let path = target
        let parent = (path as NSString).deletingLastPathComponent
        let folder = open(parent.isEmpty ? "." : parent, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw Self.failure("written", path: path) }
        // Also releases the lock.
        defer { close(folder) }
        // The folder is locked, because the file is replaced. Some network shares do not support locks.
        while flock(folder, LOCK_EX) != 0, errno == EINTR {}
        let found = try TokenFile(path: path, mayBeMissing: true).lines
        let changed = body(found)
        if changed != found { try Self.write(changed, to: path, in: folder) }
        lines = changed
        entries = changed.compactMap(\.entry)
    }

    /// The path of the file that a link leads to. If the link was replaced, a server that uses the other path would
    /// still accept revoked tokens.
    private var target: String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Writes lines to a file. If that fails, the present ones stay.
    ///
    /// - Parameter folder: the open folder of the file.
    private static func write(_ lines: [Line], to path: String, in folder: Int32) throws {
        let text = lines.map { $0.text + "\n" }.joined()
        let made = "\(path).\(UUID().uuidString).new"
        let file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("made", path: made) }
        let bytes = Array(text.utf8)
        // The write fails only if the disk is full.
        let isWhole =
            bytes.withUnsafeBytes { writeAll(file, bytes: $0) } && keepOwner(file, of: path) && fchmod(file, 0o600) == 0
            && fsync(file) == 0
        guard close(file) == 0, isWhole, rename(made, path) == 0 else {
            let failure = failure("written", path: path)
            unlink(made)
            throw failure
        }
        fsync(folder)
    }

    /// Gives a new file the owner of the present one. The server's user could not read a file of root.
    private static func keepOwner(_ file: Int32, of path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid != geteuid() else { return true }
        return fchown(file, status.st_uid, status.st_gid) == 0
    }

    private static func writeAll(_ file: Int32, bytes: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = write(file, start: bytes.baseAddress?.advanced(by: offset), count: bytes.count - offset)
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    private static func write(_ file: Int32, start: UnsafeRawPointer?, count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.write(file, start, count)
        #elseif canImport(Musl)
        Musl.write(file, start, count)
        #else
        Darwin.write(file, start, count)
        #endif
    }

    private static func failure(_ participle: String, path: String) -> Failure {
        Failure(description: "The file \(path) could not be \(participle): \(String(cString: strerror(errno))).")
    }

    private static func hash(_ token: String) -> String {
        SHA256.hash(data: Data(token.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private static func isHash(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || "._@-".unicodeScalars.contains($0)
            }
    }

    private static func shown(_ text: String) -> String {
        String(decoding: text.utf8.prefix(80).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }
}
