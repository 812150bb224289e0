#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The output streams of the process, written in whole lines. When the reader of the results ends, the process exits
/// silently.
///
/// All output of the uploader passes through this type, and through ``Printable``.
package enum Console {
    static func result(_ line: String) { write(Printable.text(line) + "\n", to: STDOUT_FILENO) }
    static func message(_ line: String) { write(Printable.text(line) + "\n", to: STDERR_FILENO) }

    /// Opens `/dev/null` for each standard stream that is closed, as in `uploader … >&-`. Otherwise the output would be
    /// written to a file that gets the same descriptor number.
    package static func openStreams() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // The system assigns the lowest free number, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// True if a person reads the messages and can answer.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Prints a question, with space for the answer on the same line.
    static func ask(_ text: String) { write(Printable.text(text), to: STDERR_FILENO) }

    /// Prints the uploader's own texts of several lines.
    static func help(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map(Printable.text).joined(separator: "\n") + "\n", to: STDOUT_FILENO)
    }

    /// Redraws the last line of the terminal.
    static func redraw(_ line: String) { write("\r\(Printable.text(line))\u{1B}[K", to: STDERR_FILENO) }
    static func eraseLine() { write("\r\u{1B}[K", to: STDERR_FILENO) }

    /// True if standard error is a terminal that can redraw a line.
    static var canRedraw: Bool {
        guard isatty(STDERR_FILENO) == 1 else { return false }
        return getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
    }

    /// True if results are shown on a terminal, for a person instead of a script.
    static var showsResults: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Prints lines that were already escaped for output.
    static func results(_ lines: String) { write(lines, to: STDOUT_FILENO) }

    /// The width of the terminal in columns.
    static var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = systemWrite(descriptor, bytes: rest)
                if count < 0 {
                    if errno == EINTR { continue }
                    if errno == EAGAIN {
                        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                        poll(&request, 1, 1_000)
                        continue
                    }
                    // 'uploader … | head': the reader has ended, so there is nothing left to do.
                    if errno == EPIPE, descriptor == STDOUT_FILENO { _exit(141) }
                    if descriptor == STDERR_FILENO { return }
                    // Lost results must not look like success. Attached files stay attached.
                    message("uploader: the results cannot be written: \(String(cString: strerror(errno)))")
                    _exit(1)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}

/// A buffer for many result lines, which are written in large blocks.
struct ResultLines {
    private var text = ""

    mutating func add(_ line: String) {
        text += Printable.text(line)
        text += "\n"
        if text.utf8.count >= 64 << 10 { flush() }
    }

    mutating func flush() {
        if !text.isEmpty { Console.results(text) }
        text = ""
    }
}
