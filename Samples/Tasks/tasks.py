"""The tasks: what is asked, the command of each tool, and how it is seen that it is done.

`before` of a tool is what it has uploaded already, `change` what happens then. A check is Python with `status`, `text`,
`folder`, `sh`, `place` and `start`, the objects before the command.
"""

PUSH = {
    "uploader": "uploader push $U files",
    "rclone": "rclone copy files S:$B/c",
    "restic": "restic backup files",
    "s5cmd": "s5cmd sync files/ s3://$B/c/",
    "aws": "aws s3 sync files s3://$B/c",
}

TOOLS = {
    "uploader": dict(version="uploader --version", setup="", before=PUSH["uploader"]),
    "rclone": dict(version="rclone version", setup="", before=PUSH["rclone"]),
    "restic": dict(version="restic version", setup="restic init; ", before=PUSH["restic"]),
    "s5cmd": dict(version="s5cmd version", setup="", before=PUSH["s5cmd"]),
    "aws": dict(version="aws --version", setup="", before=PUSH["aws"]),
}

GET = {
    "uploader": "uploader pull $U --all --output out",
    "rclone": "rclone copy S:$B/c out/files",
    "restic": "restic restore latest --target out",
    "s5cmd": "s5cmd sync 's3://$B/c/*' out/files/",
    "aws": "aws s3 sync s3://$B/c out/files",
}


def each(uploader=None, rclone=None, restic=None, s5cmd=None, aws=None):
    return dict(uploader=uploader, rclone=rclone, restic=restic, s5cmd=s5cmd, aws=aws)


def task(title, asks, tools, check="status == 0", **more):
    return dict(title=title, asks=asks, tools=tools, check=check, **more)


SAME = "sh('diff -r files out/files')[0] == 0"
NO_WAY = "- no such command"
# Removes an object with content behind the tool's back.
LOSE = "s5cmd rm s3://$B/$(s5cmd ls 's3://$B/*' | awk '$3 > 9000 { print $4; exit }')"
DEAD = "http://127.0.0.1:1"


def dead(command, endpoint=True):
    return f"AWS_ENDPOINT_URL={DEAD} AWS_ENDPOINT_URL_S3={DEAD} S3_ENDPOINT_URL={DEAD} " \
        f"RCLONE_CONFIG_S_ENDPOINT={DEAD} RESTIC_REPOSITORY=s3:{DEAD}/bucket/r {command}"


def wrong_keys(command): return f"AWS_SECRET_ACCESS_KEY=wrong {command}"


TASKS = [
    task("Upload a folder", "All 15 files are there.", PUSH, fresh=True,
         check="status == 0 and place.objects()[0] >= (3 if place.tool == 'restic' else 15)"),
    task("Upload it again", "Nothing has changed: no content is sent.", PUSH,
         check="status == 0 and 'large' not in text and place.objects()[1] - start[1] < 20_000"),
    task("Upload one changed file", "One picture has other bytes.", PUSH, change="echo new > files/3.jpg",
         check="status == 0 and sh({'uploader': 'uploader pull $U 3.jpg --output out && cat out/files/3.jpg',"
               " 'restic': 'restic dump latest /files/3.jpg', 'rclone': 'rclone cat S:$B/c/3.jpg'}.get(place.tool,"
               " 's5cmd cat s3://$B/c/3.jpg'))[1].strip().endswith('new')"),
    task("A change that keeps size and time", "The time of the file was set back: the new bytes are found.", PUSH,
         change="cp -p files/3.jpg old; printf X | dd of=files/3.jpg conv=notrunc 2>/dev/null; touch -r old files/3.jpg",
         check="status == 0 and sh({'uploader': 'uploader pull $U 3.jpg --output out && cat out/files/3.jpg',"
               " 'restic': 'restic dump latest /files/3.jpg', 'rclone': 'rclone cat S:$B/c/3.jpg'}.get(place.tool,"
               " 's5cmd cat s3://$B/c/3.jpg'))[1].splitlines()[-1:] != [] and sh({'uploader': 'cmp out/files/3.jpg"
               " files/3.jpg', 'restic': 'restic dump latest /files/3.jpg | cmp - files/3.jpg',"
               " 'rclone': 'rclone cat S:$B/c/3.jpg | cmp - files/3.jpg'}.get(place.tool,"
               " 's5cmd cat s3://$B/c/3.jpg | cmp - files/3.jpg'))[0] == 0"),
    task("A file that was touched", "It has another time and the same bytes: they are not sent again.", PUSH,
         change="touch files/large.mov", check="status == 0 and 'large' not in text and place.objects()[1] - start[1] < 20_000",
         note="s5cmd and aws know the time alone, and send the 8 MB once more."),
    task("See what would be uploaded", "It is told by name, and nothing is sent.",
         each("uploader push -n $U files", "rclone copy -n files S:$B/c", "restic backup -n -v files",
              "s5cmd --dry-run cp files/ s3://$B/c/", "aws s3 sync --dryrun files s3://$B/c"), fresh=True,
         check="status == 0 and place.objects()[0] <= (2 if place.tool == 'restic' else 0) and"
               " ('3.jpg' in text or place.tool == 'restic' and 'Would' in text)"),
    task("A folder that is not there", "It is an error, with a status that says so.",
         each("uploader push $U typo", "rclone copy typo S:$B/c", "restic backup typo", "s5cmd cp typo/ s3://$B/c/",
              "aws s3 sync typo s3://$B/c"), fresh=True, check="status != 0 and 'typo' in text"),
    task("A link as the argument", "The folder that it leads to is uploaded.",
         each(*[command.replace("files", "link", 1) for command in
                (PUSH[tool] for tool in ("uploader", "rclone", "restic", "s5cmd", "aws"))]), fresh=True,
         change="ln -s files link", check="status == 0 and place.objects()[1] > 4_000_000",
         note="restic records the link itself."),
    task("Only pictures", "Twelve of the files.",
         each("uploader push $U --include '*.jpg' files", "rclone copy --include '*.jpg' files S:$B/c",
              "restic backup --exclude '*.txt' --exclude '*.mov' --exclude empty files", "s5cmd cp 'files/*.jpg' s3://$B/c/",
              "aws s3 sync --exclude '*' --include '*.jpg' files s3://$B/c"), fresh=True,
         check="status == 0 and (place.objects()[0] == 12 or place.tool == 'restic'"
               " and sh('restic ls latest')[1].count('.jpg') == 12)"),
    task("All but some", "Neither films nor what is in a folder.",
         each("uploader push $U --exclude '*.mov' --exclude deep/ files",
              "rclone copy --exclude '*.mov' --exclude 'deep/**' files S:$B/c",
              "restic backup --exclude '*.mov' --exclude deep files",
              "s5cmd cp --exclude '*.mov' --exclude 'deep/*' files/ s3://$B/c/",
              "aws s3 sync --exclude '*.mov' --exclude 'deep/*' files s3://$B/c"), fresh=True,
         check="status == 0 and (place.objects()[0] == 13 or place.tool == 'restic'"
               " and not any(w in sh('restic ls latest')[1] for w in ('mov', 'deep')))"),
    task("The files that a list names", "Two of them.",
         each("uploader push $U --files-from list files", "rclone copy --files-from list files S:$B/c",
              "sed 's|^|files/|' list > l; restic backup --files-from l",
              "sed 's|.*|cp \"files/&\" \"s3://$B/c/&\"|' list | s5cmd run", "- no option for it"), fresh=True,
         change="printf '1.jpg\\ndeep/ä b.txt\\n' > list",
         check="status == 0 and (place.objects()[0] == 2 or place.tool == 'restic'"
               " and sum(l[:1] == '/' and l.endswith('.jpg') for l in sh('restic ls latest')[1].splitlines()) == 1)"),
    task("A list that names what is not there", "It is told, and the status says so.",
         each("uploader push $U --files-from list files", "rclone copy --files-from list files S:$B/c",
              "sed 's|^|files/|' list > l; restic backup --files-from l",
              "sed 's|.*|cp \"files/&\" \"s3://$B/c/&\"|' list | s5cmd run", "- no option for it"), fresh=True,
         change="printf '1.jpg\\nmissing.jpg\\n' > list", check="status != 0 and 'missing' in text"),
    task("List what is there", "All 15 by their paths.",
         each("uploader list --database a.sqlite", "rclone lsl S:$B/c", "restic ls latest", "s5cmd ls 's3://$B/c/*'",
              "aws s3 ls --recursive s3://$B/c"), check="status == 0 and 'ä b.txt' in text and text.count('.jpg') == 12"),
    task("The largest first", "The film is in the first line of the list.",
         each("uploader list --database a.sqlite --sort size --reverse", "rclone lsl S:$B/c | sort -rn",
              "restic ls -l latest | sort -k4 -rn", "s5cmd ls 's3://$B/c/*' | sort -k3 -rn",
              "aws s3 ls --recursive s3://$B/c | sort -k3 -rn"), check="'large.mov' in text.strip().splitlines()[0]"),
    task("How much is there", "The number of files and bytes, for a script.",
         each("uploader status --database a.sqlite --json", "rclone size --json S:$B/c", "restic stats --json latest",
              "s5cmd --json du 's3://$B/c/*'", "aws s3 ls --recursive --summarize s3://$B/c | tail -2"),
         check="status == 0 and '15' in text or place.tool == 'restic' and 'total_file_count' in text"),
    task("Fetch everything", "Into an empty folder, equal to the originals.", GET, check=f"status == 0 and {SAME}"),
    task("Fetch one file by its name", "The text.",
         each("uploader pull $U 'ä b.txt' --output out", "rclone copy 'S:$B/c/deep/ä b.txt' out",
              "restic restore latest --target out --include '/files/deep/ä b.txt'",
              "s5cmd cp 's3://$B/c/deep/ä b.txt' out/", "aws s3 cp 's3://$B/c/deep/ä b.txt' out/"),
         check="status == 0 and sh('find out -name \"ä b.txt\" | xargs -d\"\\n\" cat')[1] == 'deep'"),
    task("Fetch by a pattern", "The twelve pictures.",
         each("uploader pull $U '*.jpg' --output out", "rclone copy --include '*.jpg' S:$B/c out",
              "restic restore latest --target out --include '*.jpg'", "s5cmd cp 's3://$B/c/*.jpg' out/",
              "aws s3 cp --recursive --exclude '*' --include '*.jpg' s3://$B/c out"),
         check="status == 0 and sh('find out -type f | wc -l')[1].strip() == '12'"),
    task("Fetch where another file is", "What is there and has other content is not overwritten in silence.", GET,
         change="mkdir -p out/files; echo mine > out/files/3.jpg",
         check="(folder / 'out/files/3.jpg').read_bytes().strip() == b'mine'",
         note="The others replace it: that is what they are told to do. The uploader tells the conflict, and exits with 3."),
    task("Fetch once more", "All is there: nothing is fetched.", GET,
         before={tool: PUSH[tool] + "; " + GET[tool] for tool in PUSH}, change="touch now; sleep 0.01",
         check="status == 0 and sh('find out -name large.mov -cnewer now')[1].strip() == ''"),
    task("Times come back", "A file of 2017 has that time after it was fetched.", GET,
         check="int(os.stat(folder / 'out/files/0.jpg').st_mtime) == 1_500_000_000"),
    task("Remove one file there", "And nothing else.",
         each("uploader remove $U 3.jpg", "rclone deletefile S:$B/c/3.jpg", "- snapshots are removed as a whole",
              "s5cmd rm s3://$B/c/3.jpg", "aws s3 rm s3://$B/c/3.jpg"),
         check="status == 0 and place.objects()[0] == start[0] - 1"),
    task("See what a pattern would remove", "All pictures are told, and none is removed.",
         each("uploader remove -n $U '*.jpg'", "rclone delete -n --include '*.jpg' S:$B/c",
              "- snapshots are removed as a whole", "s5cmd --dry-run rm 's3://$B/c/*.jpg'",
              "aws s3 rm --recursive --dryrun --exclude '*' --include '*.jpg' s3://$B/c"),
         check="status == 0 and text.count('.jpg') >= 12 and place.objects() == start"),
    task("Remove what is deleted here", "The storage follows the folder.",
         each("uploader remove --gone $U", "rclone sync files S:$B/c", "- snapshots are removed as a whole",
              "s5cmd sync --delete files/ s3://$B/c/", "aws s3 sync --delete files s3://$B/c"),
         change="rm files/1.jpg files/2.jpg", check="status == 0 and place.objects()[0] == start[0] - 2"),
    task("The same, while the disk is not mounted", "The folder is empty: nothing is removed.",
         each("uploader remove --gone $U", "rclone sync files S:$B/c", "- snapshots are removed as a whole",
              "s5cmd sync --delete files/ s3://$B/c/", "aws s3 sync --delete files s3://$B/c"),
         change="mv files disk; mkdir files", check="status != 0 and place.objects()[0] == start[0]"),
    task("Move a folder", "Originals go once they are there.",
         each("uploader push --move $U files", "rclone move files S:$B/c", NO_WAY, "s5cmd mv files/ s3://$B/c/",
              "aws s3 mv --recursive files s3://$B/c"), fresh=True,
         check="status == 0 and place.objects()[0] == 15 and sh('find files -type f | wc -l')[1].strip() == '0'"),
    task("Move while a program writes", "What it writes afterwards is not lost.",
         each(*[f"exec 7>>files/log; {command}; s=$?; echo more >&7; exit $s" if command else None for command in (
             "uploader push --move $U files", "rclone move files S:$B/c", None, "s5cmd mv files/ s3://$B/c/",
             "aws s3 mv --recursive files s3://$B/c")]), fresh=True, change="echo begun > files/log",
         check="(folder / 'files/log').exists() and 'more' in (folder / 'files/log').read_text()",
         note="Of the other tools the file is gone, and what is written to it goes with it."),
    task("The server is away", "It ends in a time that a job can wait for, with a reason and a status.",
         each(dead("uploader push --give-up-after 5s $U files"), dead("rclone copy files S:$B/c"),
              dead("restic backup files"), dead("s5cmd cp files/ s3://$B/c/"), dead("aws s3 sync files s3://$B/c")),
         fresh=True, limit=60, check="status not in (0, None) and 'refused' in text.lower() or status not in (0, None)"
                                     " and 'connect' in text.lower()"),
    task("A wrong key", "It is said.", each(*[wrong_keys(PUSH[tool]) if tool != "uploader" else
                                              wrong_keys("uploader push --give-up-after 5s $U files") for tool in
                                              ("uploader", "rclone", "restic", "s5cmd", "aws")]), limit=60,
         change="echo new > files/new.txt",
         check="status not in (0, None) and any(w in text for w in ('ignature', 'denied', 'Denied', 'key', '403'))",
         note="With nothing new to send the uploader asks for one object only, and goes on when that is refused."),
    task("A bucket that is not there", "It is said, and none is made.",
         each("uploader push --give-up-after 5s --database b.sqlite --to 's3://no-such-$B?addressing=path' files",
              "rclone copy files S:no-such-$B/c", "- a repository is made by a command of its own",
              "s5cmd cp files/ s3://no-such-$B/c/", "aws s3 sync files s3://no-such-$B/c"), limit=60,
         check="status not in (0, None) and sh('s5cmd ls s3://no-such-$B')[0] != 0",
         note="rclone makes the bucket."),
    task("Ctrl-C", "The status says that it was interrupted.",
         each(*[f"head -c 300M /dev/zero > files/big; timeout -s INT --preserve-status 0.7 {command}" for command in (
             PUSH[tool] for tool in ("uploader", "rclone", "restic", "s5cmd", "aws"))]), fresh=True,
         check="status in (130, 2)"),
    task("Killed, and once more", "The second run ends the work.",
         each(*[f"timeout -s KILL 0.5 {PUSH[tool]}; {PUSH[tool]} && {GET[tool]}" for tool in
                ("uploader", "rclone", "restic", "s5cmd", "aws")]), fresh=True, check=f"status == 0 and {SAME}"),
    task("Find a lost object", "One was removed behind the tool's back: a check without reading content finds it.",
         each("uploader verify $U", "rclone check files S:$B/c", "restic check", NO_WAY, NO_WAY),
         before={tool: PUSH[tool] + "; " + LOSE for tool in PUSH}, check="status not in (0, None)"),
    task("Mend it", "From the originals, and it is whole afterwards.",
         each(f"uploader verify --repair $U; {PUSH['uploader']} && uploader verify $U",
              "rclone copy files S:$B/c && rclone check files S:$B/c",
              "restic rebuild-index; restic backup --force files && restic check", PUSH["s5cmd"], PUSH["aws"]),
         before={tool: PUSH[tool] + "; " + LOSE for tool in PUSH},
         check="status == 0 and (place.tool == 'restic' or place.objects()[0] == 15)"),
    task("A folder gets another name", "Its content is not sent again.",
         each(*[PUSH[tool] for tool in ("uploader", "rclone", "restic", "s5cmd", "aws")]), change="mkdir files/n; mv files/*.mov files/n/",
         check="status == 0 and place.objects()[1] - start[1] < 100_000"),
    task("Equal files", "A second copy of the film is not sent.", PUSH, change="cp files/large.mov files/copy.mov",
         check="status == 0 and place.objects()[1] - start[1] < 100_000"),
    task("The machine is lost", "A new one knows the bucket and the secrets, and gets the files with their names.",
         each("uploader recover --from 's3://$B/u?addressing=path' --database n.sqlite && uploader pull --database n.sqlite"
              " --to 's3://$B/u?addressing=path' --all --output out", *[GET[tool] for tool in
                                                                       ("rclone", "restic", "s5cmd", "aws")]),
         before=dict(uploader="uploader push --save-database $U files; mv a.sqlite old; mv a.sqlite.lfs old.lfs"),
         check=f"status == 0 and {SAME}"),
    task("Space on this disk", "A backup takes none beside the originals.",
         each("uploader push --free-uploaded $U files", PUSH["rclone"], PUSH["restic"], PUSH["s5cmd"], PUSH["aws"]),
         fresh=True, check="status == 0 and int(sh('du -sk --exclude=files . | cut -f1')[1]) < 4_000"),
    task("Events for a script", "One JSON object a line, with the names of what was uploaded.",
         each("uploader push --json $U files", "rclone copy --use-json-log -v files S:$B/c", "restic backup --json files",
              "s5cmd --json cp files/ s3://$B/c/", "- no option for it"), fresh=True,
         check="status == 0 and all(line.startswith('{') for line in text.strip().splitlines()) and '3.jpg' in text"),
    task("Follow a folder", "What is written there while it runs is uploaded, until it is told to end.",
         each("uploader push --watch --settle 1s $U files & p=$!; sleep 3; echo new > files/new.txt; sleep 5;"
              " kill -INT $p; wait $p", NO_WAY, NO_WAY, NO_WAY, NO_WAY),
         check="status == 130 and place.objects()[0] == start[0] + 1"),
]
