import CCurl
import LFSHTTP

/// The header fields of one request in libcurl's format: a linked list of zero-terminated lines.
///
/// libcurl reads the list during the request and does not copy it. The list and its lines share one block of memory,
/// first the links and then the lines. The block is reused for the next request.
struct FieldLines: ~Copyable {
    private var text: [UInt8] = []
    /// The offset of each line in the text.
    private var starts: [Int] = []
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 10, alignment: 16)

    deinit { memory.deallocate() }

    /// Returns the list of the request's fields, plus fields that keep libcurl from adding its own. The list is valid
    /// until the next call.
    mutating func list(for request: HTTPRequest) -> UnsafeMutablePointer<curl_slist>? {
        text.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        for field in request.headers.fields {
            // libcurl omits a field with an empty value unless a semicolon follows its name.
            append(field.name, separator: field.value.isEmpty ? ";" : ": ", value: field.value)
        }
        append("Expect", separator: ":", value: request.expectsContinue ? " 100-continue" : "")
        append("Accept", separator: ":", value: "")
        if request.headers["content-type"] == nil { append("Content-Type", separator: ":", value: "") }
        return linked()
    }

    private mutating func append(_ name: String, separator: String, value: String) {
        starts.append(text.count)
        append(name)
        append(separator)
        append(value)
        text.append(0)
    }

    private mutating func append(_ part: String) {
        var part = part
        part.withUTF8 { text.append(contentsOf: $0) }
    }

    /// Returns the lines as a linked list, or nil without lines.
    private mutating func linked() -> UnsafeMutablePointer<curl_slist>? {
        let linkByteCount = starts.count * MemoryLayout<curl_slist>.stride
        reserve(linkByteCount + text.count)
        let links = memory.bindMemory(to: curl_slist.self)
        let lines = UnsafeMutableRawBufferPointer(rebasing: memory[linkByteCount...]).bindMemory(to: CChar.self)
        UnsafeMutableRawBufferPointer(lines).copyBytes(from: text)
        var next: UnsafeMutablePointer<curl_slist>?
        for index in starts.indices.reversed() {
            links[index] = curl_slist(data: lines.baseAddress.map { $0 + starts[index] }, next: next)
            next = links.baseAddress.map { $0 + index }
        }
        return next
    }

    private mutating func reserve(_ byteCount: Int) {
        guard byteCount > memory.count else { return }
        memory.deallocate()
        memory = .allocate(byteCount: 2 * byteCount, alignment: 16)
    }
}
