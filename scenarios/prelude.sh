# What scripts of scenarios begin with: servers, and cgroups of their own, whichever version of cgroups this machine has.

# Becomes nginx with $1 workers on CPU_A, answering `pong` at PORT.
nginx_on_cpu_a() {
    cat > "$DIR/nginx.conf" << EOF
daemon off;
worker_processes $1;
pid $DIR/nginx.pid;
error_log $DIR/error.log;
events { worker_connections 1024; }
http { access_log off; server { listen 127.0.0.1:$PORT; location / { return 200 "pong"; } } }
EOF
    exec taskset -c "$CPU_A" nginx -c "$DIR/nginx.conf" -p "$DIR"
}

# Makes StringServer.class in DIR: a thread for each connection, which answers `pong` to each line after $2 us of work, with a third word under one monitor.
java_string_server() {
    cat > "$DIR/StringServer.java" << 'EOF'
import java.io.*;
import java.net.*;

public class StringServer {
    static final Object MONITOR = new Object();

    public static void main(String[] words) throws Exception {
        long work = Long.parseLong(words[1]) * 1000;
        ServerSocket server = new ServerSocket(Integer.parseInt(words[0]), 64, InetAddress.getLoopbackAddress());
        while (true) {
            Socket connection = server.accept();
            new Thread(() -> answer(connection, work, words.length > 2)).start();
        }
    }

    static void answer(Socket connection, long work, boolean lock) {
        try {
            connection.setTcpNoDelay(true);
            BufferedReader lines = new BufferedReader(new InputStreamReader(connection.getInputStream()));
            OutputStream to = connection.getOutputStream();
            while (lines.readLine() != null) {
                if (lock) {
                    synchronized (MONITOR) {
                        spin(work);
                    }
                } else {
                    spin(work);
                }
                to.write("pong\n".getBytes());
            }
        } catch (IOException e) {
            return;
        }
    }

    static void spin(long work) {
        long until = System.nanoTime() + work;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
    }
}
EOF
    javac -d "$DIR" "$DIR/StringServer.java"
}

# Becomes a server in Erlang that answers `pong` to each line at PORT; run by the command that is given, if any.
erlang_string_server() {
    exec "$@" erl -noshell -eval "
        {ok, L} = gen_tcp:listen($PORT, [binary, {packet, line}, {active, false}, {reuseaddr, true}, {nodelay, true}, {ip, {127,0,0,1}}, {backlog, 64}]),
        Answer = fun Answer(S) -> case gen_tcp:recv(S, 0) of {ok, _} -> gen_tcp:send(S, <<\"pong\\n\">>), Answer(S); _ -> ok end end,
        Accept = fun Accept() -> {ok, S} = gen_tcp:accept(L), P = spawn(fun() -> receive go -> Answer(S) end end), gen_tcp:controlling_process(S, P), P ! go, Accept() end,
        Accept()."
}

# The folder of cgroup $2 in the hierarchy of controller $1.
cg_dir() {
    if [ -e "/sys/fs/cgroup/$1/cgroup.procs" ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
        echo "/sys/fs/cgroup/$1/$2"
    else
        echo "/sys/fs/cgroup/$2"
    fi
}

# Makes cgroup $2 with controller $1.
cg_make() {
    dir=$(cg_dir "$1" "$2")
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        echo "+$1" > /sys/fs/cgroup/cgroup.subtree_control
        parent=$(dirname "$2")
        if [ "$parent" != . ]; then
            mkdir -p "/sys/fs/cgroup/$parent" && echo "+$1" > "/sys/fs/cgroup/$parent/cgroup.subtree_control"
        fi
    fi
    mkdir -p "$dir"
}

# Lets cgroup $1 have $2 us of CPU time in each 100 ms.
cg_quota() {
    dir=$(cg_dir cpu "$1")
    if [ -e "$dir/cpu.max" ]; then
        echo "$2 100000" > "$dir/cpu.max"
    else
        echo 100000 > "$dir/cpu.cfs_period_us" && echo "$2" > "$dir/cpu.cfs_quota_us"
    fi
}

# Lets cgroup $1 have $2 bytes of memory.
cg_memory() {
    dir=$(cg_dir memory "$1")
    if [ -e "$dir/memory.max" ]; then
        echo "$2" > "$dir/memory.max"
    else
        echo "$2" > "$dir/memory.limit_in_bytes"
    fi
}

# Moves this shell into cgroup $2 of controller $1.
cg_join() {
    echo $$ > "$(cg_dir "$1" "$2")/cgroup.procs"
}

# Removes cgroup $2 of controller $1, once its processes are gone.
cg_remove() {
    dir=$(cg_dir "$1" "$2")
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rmdir "$dir" 2> /dev/null && return 0
        [ -d "$dir" ] || return 0
        sleep 0.2
    done
    rmdir "$dir"
}
