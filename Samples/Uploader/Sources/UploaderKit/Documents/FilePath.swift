import Foundation
package import GRDB

/// A path as the system stores it, as bytes. Paths are almost always valid text, but Linux does not require that. Two
/// texts that Swift considers equal (é composed or decomposed) can be two different files.
package struct FilePath: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
    package init(_ text: String) { bytes = Array(text.utf8) }

    /// Hashes all bytes at once. As an array, each byte would be hashed separately.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// A text for people. Escapes ensure that a name cannot break a line or a terminal, and that different names look
    /// different.
    package var description: String { Printable.name(bytes) }

    /// A text for programs: the exact text if it is valid. Invalid bytes appear as U+FFFD.
    var exact: String { text ?? String(decoding: bytes, as: UTF8.self) }

    /// The exact text. Nil if the bytes are not valid UTF-8.
    package var text: String? { String(validating: bytes, as: UTF8.self) }

    package var components: [[UInt8]] { bytes.split(separator: Self.slash).map(Array.init) }
    package var lastComponent: FilePath { FilePath(bytes: components.last ?? bytes) }

    /// The parent folder of an absolute path without `.` and `..`. Nil for the root.
    var folder: FilePath? {
        guard let slash = bytes.lastIndex(of: Self.slash), bytes.count > 1 else { return nil }
        return FilePath(bytes: slash == 0 ? [Self.slash] : Array(bytes[..<slash]))
    }

    package func appending(_ name: [UInt8]) -> FilePath {
        FilePath(bytes: bytes.last == Self.slash ? bytes + name : bytes + [Self.slash] + name)
    }

    /// Returns the absolute path. `.` and `..` are resolved textually.
    package func absolute(from folder: String) -> FilePath {
        let start = bytes.first == Self.slash ? [] : FilePath(folder).components
        var result = start
        for component in components where component != [0x2E] {
            if component == [0x2E, 0x2E] { _ = result.popLast() } else { result.append(component) }
        }
        return FilePath(bytes: [Self.slash] + Array(result.joined(separator: [Self.slash])))
    }

    /// The path with all links resolved. Nil if nothing exists at the path.
    var real: FilePath? {
        withCString { path in
            guard let real = realpath(path, nil) else { return nil }
            defer { free(real) }
            return FilePath(bytes: Array(UnsafeRawBufferPointer(start: real, count: strlen(real))))
        }
    }

    /// True if the path leads to a folder, or to a link to one.
    var isFolder: Bool {
        var status = stat()
        return withCString { stat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// True if nothing exists at the path any more. False if that cannot be determined.
    var isGone: Bool {
        var status = stat()
        return withCString { lstat($0, &status) } != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// True if the file no longer exists: nothing or a folder has its name. A link does not count, because it may lead
    /// to the file's new place.
    var isGoneAsFile: Bool {
        var status = stat()
        return withCString { lstat($0, &status) } == 0 ? status.st_mode & S_IFMT == S_IFDIR : isGone
    }

    /// Calls the body with the path as a C string.
    package func withCString<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
        try (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // The buffer holds at least the final zero.
            try body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }

    private static let slash = UInt8(ascii: "/")
}

/// A path is stored as text if it is valid text, otherwise as a blob of the exact bytes.
extension FilePath: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue {
        if let text { text.databaseValue } else { bytes.withUnsafeBytes { Data($0) }.databaseValue }
    }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> FilePath? {
        switch value.storage {
        case .string(let text): FilePath(text)
        case .blob(let data): FilePath(bytes: Array(data))
        default: nil
        }
    }
}
