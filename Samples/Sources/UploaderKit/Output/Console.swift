#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The two streams of the process, written whole lines at a time. A reader that has gone ends the process quietly.
///
/// Nothing of the uploader is printed elsewhere, and nothing here without ``Printable``.
package enum Console {
    static func result(_ line: String) { write(Printable.text(line) + "\n", to: STDOUT_FILENO) }
    static func message(_ line: String) { write(Printable.text(line) + "\n", to: STDERR_FILENO) }

    /// Opens `/dev/null` in the place of each standard stream that is closed, as in `uploader … >&-`. A file that gets
    /// its number would have the lines in it.
    package static func openStreams() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Whether a person reads messages and can answer.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// A question, with room for the answer behind it.
    static func ask(_ text: String) { write(Printable.text(text), to: STDERR_FILENO) }

    /// The uploader's own texts, of several lines.
    static func help(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map(Printable.text).joined(separator: "\n") + "\n", to: STDOUT_FILENO)
    }

    /// Redraws the last line of the terminal.
    static func redraw(_ line: String) { write("\r\(Printable.text(line))\u{1B}[K", to: STDERR_FILENO) }
    static func eraseLine() { write("\r\u{1B}[K", to: STDERR_FILENO) }

    /// Whether the standard error is a terminal that can redraw a line.
    static var canRedraw: Bool {
        guard isatty(STDERR_FILENO) == 1 else { return false }
        return getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
    }

    /// Whether results are shown on a terminal: a person reads them, and no script.
    static var showsResults: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Lines that are made fit to be printed already.
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
                let count = systemWrite(descriptor, rest)
                if count < 0 {
                    if errno == EINTR { continue }
                    if errno == EAGAIN {
                        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                        poll(&request, 1, 1_000)
                        continue
                    }
                    // 'uploader … | head': whoever read the results has seen enough, and there is no one to tell.
                    if errno == EPIPE, descriptor == STDOUT_FILENO { _exit(141) }
                    if descriptor == STDERR_FILENO { return }
                    // Results that are lost must not look like success. What was attached stays attached.
                    message("uploader: the results cannot be written: \(String(cString: strerror(errno)))")
                    _exit(1)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}

/// Results that are many: they go out in large pieces.
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
