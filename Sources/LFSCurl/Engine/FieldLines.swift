import CCurl
import LFSHTTP

/// The fields of one request as libcurl takes them: a linked list of lines that end with a zero byte.
///
/// libcurl reads the list while the request is under way, and leaves it to its owner. So all of it stands in one piece
/// of memory, first the links and then the lines, which serves one request after the other.
struct FieldLines: ~Copyable {
    private var text: [UInt8] = []
    /// Where each line begins in the text.
    private var starts: [Int] = []
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 10, alignment: 16)

    deinit { memory.deallocate() }

    /// The fields of a request, and those that keep libcurl from adding its own. The list is good until the next call.
    mutating func list(for request: HTTPRequest) -> UnsafeMutablePointer<curl_slist>? {
        text.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        for field in request.headers.fields {
            // An empty value is written with a semicolon, or libcurl would leave the field out.
            append(field.name, field.value.isEmpty ? ";" : ": ", field.value)
        }
        append("Expect", ":", request.expectsContinue ? " 100-continue" : "")
        append("Accept", ":", "")
        if request.headers["content-type"] == nil { append("Content-Type", ":", "") }
        return linked()
    }

    private mutating func append(_ name: String, _ separator: String, _ value: String) {
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

    /// The lines as a list; nil when there are none.
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
